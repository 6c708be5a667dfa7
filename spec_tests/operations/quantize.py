"""How quantize is drawn."""

from typing import Any

import numpy as np

from reference_numpy._narrow import spread
from reference_numpy.quantize import quantize
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import (
    draw_powers,
    draw_quotients,
    draw_scales,
    draw_sides,
    draw_spread,
    draw_zero_points,
    shape_of_scales,
)
from spec_tests.operations._narrow_keywords import Keywords, draw_keywords
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.narrow_formats import FLOATING_ELEMENTS


def draw_x(draw: Draw, keywords: Keywords, scale: Any, shape: tuple[int, ...], *, exact: bool) -> np.ndarray:
    """Draw x for these scales: such that quotients are hard to round if these are exact, and else of every size."""
    t = (draw_quotients if exact else draw_spread)(draw, keywords.format, shape)
    f = draw.format  # not `held`, which may keep fewer bits
    return f.round(np.clip(t * spread(scale, keywords.block, shape), -f.max, f.max))


def draw_optional(draw: Draw, keywords: Keywords, shape: tuple[int, ...], *, exact: bool) -> dict[str, Any]:
    """Draw a zero point for integers, or a global scale for scales in e4m3, or none."""
    f = keywords.format
    if f.is_integer and "zero_point" in draw.variants("zero_point"):
        return {"zero_point": draw_zero_points(draw, f, shape)}
    if keywords.scale_dtype == "float8_e4m3fn" and "global_scale" in draw.variants("global_scale"):
        power = draw_powers(draw, (), -3, 3)
        return {"global_scale": power if exact else (power * draw.rng.uniform(1, 2)).astype(np.float32).astype(np.float64)}
    return {}


def draw_inputs(draw: Draw, keywords: Keywords, *, exact: bool | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call with these keywords. exact: powers of two as scales, as in a half of the examples where it is not given."""
    exact = draw.one_of((True, False)) if exact is None else exact
    shape = (*draw.batch(), *draw_sides(draw, keywords.format, keywords.block))
    shape_of_scale = shape_of_scales(shape, keywords.block)
    scale = draw_scales(draw, shape_of_scale, keywords.scale_dtype, exact=exact)
    optional = draw_optional(draw, keywords, shape_of_scale, exact=exact)
    x = draw_x(draw, keywords, scale * optional.get("global_scale", 1.0), shape, exact=exact)
    return (x, scale), {**keywords.given, **optional}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, draw_keywords(draw))


def ask_range(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw quotients far below the least number, without a zero point."""
    keywords = draw_keywords(draw, "int8", "int4")
    shape = draw_sides(draw, keywords.format, keywords.block)
    scale = draw_powers(draw, shape_of_scales(shape, keywords.block), -3, 3)
    return (np.full(shape, -200.0) * spread(scale, keywords.block, shape), scale), keywords.given


def ask_ties(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw midpoints of float4_e2m1fn at scale 1."""
    keywords = draw_keywords(draw, "float4_e2m1fn")
    m, k = draw_sides(draw, keywords.format, keywords.block)
    points = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    x = np.resize(np.concatenate([points, -points]), m * k).reshape(m, k)
    return (x, np.ones(shape_of_scales((m, k), keywords.block))), keywords.given


def ask_global_scale(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a global scale of 2 for numbers 2."""
    if not draw.operation.accepts("global_scale"):
        raise NotImplementedVariant("the function takes no global_scale", "signature")
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    shape = draw_sides(draw, keywords.format, keywords.block)
    ones = np.ones(shape_of_scales(shape, keywords.block))
    return (np.full(shape, 2.0), ones), {**keywords.given, "global_scale": np.asarray(2.0)}


declaration = Declaration(
    equation=quantize,
    arguments=arguments,
    core={"x": 2, "scale": 2, "zero_point": 2},
    precision="fused",
    dtypes=("float32", "bfloat16", "float16"),
    formats={"": "dtype", "scale": "scale_dtype", "zero_point": "dtype"},
    as_codes=("zero_point",),
    positive=("scale", "global_scale"),
    wide_arguments=("global_scale",),
    open_questions={"fp4_ties": ask_ties, "global_scale": ask_global_scale, "int8_range": ask_range},
)
