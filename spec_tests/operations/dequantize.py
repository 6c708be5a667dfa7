"""How dequantize is drawn."""

from typing import Any

import numpy as np

from reference_numpy.dequantize import dequantize
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import draw_powers, draw_sides, shape_of_scales
from spec_tests.operations._narrow_keywords import Keywords, draw_keywords
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.narrow_formats import FLOATING_ELEMENTS, NARROW_FORMATS, NarrowFormat

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-127, 2.0**127  # of float8_e8m0fnu
MODERATE = 24  # the largest exponent of most drawn scales


def draw_numbers(draw: Draw, f: NarrowFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Draw finite numbers of a format, each as likely as any other."""
    return np.asarray(draw.rng.choice(f.numbers[np.isfinite(f.numbers)], shape))


def limit_exponents(draw: Draw, f: NarrowFormat) -> tuple[int, int]:
    """Return the smallest and the largest exponent of scales with which no number of a format leaves the range of the result."""
    largest = int(np.floor(np.log2(draw.format.max / (2 * f.max))))
    return max(-MODERATE, draw.format.emin + 8), min(MODERATE, largest)


def draw_scales(draw: Draw, keywords: Keywords, shape: tuple[int, ...], *, exact: bool) -> np.ndarray:
    """Draw positive scales in their format. exact: powers of two alone, with which products are exact."""
    low, high = limit_exponents(draw, keywords.format)
    if keywords.scale_dtype == "float8_e8m0fnu":
        if draw.operation.dtype != "float16" and not exact and draw.one_of((False, False, True)):
            ends = draw.rng.choice((SMALLEST_SCALE, 2 * SMALLEST_SCALE, LARGEST_SCALE), shape)
            return np.where(draw.rng.random(shape) < 0.3, ends, draw_powers(draw, shape, -126, 100))
        return draw_powers(draw, shape, low, high)
    if keywords.scale_dtype == "float8_e4m3fn":
        numbers = NARROW_FORMATS[keywords.scale_dtype].numbers
        fitting = numbers[(numbers > 0) & (numbers <= 2.0**high)]
        return draw_powers(draw, shape, -6, min(3, high)) if exact else draw.rng.choice(fitting, shape)
    if exact:
        return draw_powers(draw, shape, low, high)
    return (2.0 ** draw.rng.uniform(low, high, shape)).astype(np.float32).astype(np.float64)


def draw_zero_points(draw: Draw, f: NarrowFormat, shape: tuple[int, ...]) -> np.ndarray:
    """Draw zero points, of uint4 those up to 14: some code stores them less one, and 15 then means 16 or 0."""
    low, high = int(f.least), 14 if f.name == "uint4" else int(f.max)
    return np.asarray(
        draw.rng.choice((low, high), shape) if draw.one_of((False, False, True)) else draw.rng.integers(low, high + 1, shape)
    )


def draw_optional(draw: Draw, keywords: Keywords, scale: np.ndarray, *, exact: bool) -> dict[str, Any]:
    """Draw a zero point and a bias for integers, or a global scale for scales in e4m3, or none."""
    f, shape = keywords.format, scale.shape
    if f.is_integer:
        used = draw.variants("zero_point", "bias")
        zero_point = {"zero_point": draw_zero_points(draw, f, shape)} if "zero_point" in used else {}
        size = scale * f.max / 2
        bias = (draw.rng.uniform(-1, 1, shape) * size).astype(np.float32).astype(np.float64)
        return {**zero_point, **({"bias": bias} if "bias" in used else {})}
    if keywords.scale_dtype == "float8_e4m3fn" and "global_scale" in draw.variants("global_scale"):
        power = draw_powers(draw, (), -3, 0)
        return {"global_scale": power if exact else (power * draw.rng.uniform(0.5, 1)).astype(np.float32).astype(np.float64)}
    return {}


def draw_inputs(
    draw: Draw, keywords: Keywords, *, exact: bool | None = None, sides: tuple[int, int] | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call with these keywords. exact: powers of two as scales, as in a half of the examples where it is not given."""
    exact = draw.one_of((True, False)) if exact is None else exact
    shape = (*draw.batch(), *(sides or draw_sides(draw, keywords.format, keywords.block)))
    scale = draw_scales(draw, keywords, shape_of_scales(shape, keywords.block), exact=exact)
    optional = draw_optional(draw, keywords, scale, exact=exact)
    return (draw_numbers(draw, keywords.format, shape), scale), {**keywords.given, **optional}


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, draw_keywords(draw))


def take(draw: Draw, name: str) -> None:
    """Leave a question about an optional array to functions that take it."""
    if not draw.operation.accepts(name):
        raise NotImplementedVariant(f"the function takes no {name}", "signature")


def draw_constant(draw: Draw, keywords: Keywords, number: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw an array of one number, and scales of 1."""
    shape = draw_sides(draw, keywords.format, keywords.block)
    return np.full(shape, number), np.ones(shape_of_scales(shape, keywords.block))


def ask_global_scale(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a global scale of 2 for numbers 2."""
    take(draw, "global_scale")
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    return draw_constant(draw, keywords, 2.0), {**keywords.given, "global_scale": np.asarray(2.0)}


def ask_zero_point(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw zeros, and zero points that are stored as 0."""
    take(draw, "zero_point")
    keywords = draw_keywords(draw, "uint4")
    q, scale = draw_constant(draw, keywords, 0.0)
    return (q, scale), {**keywords.given, "zero_point": np.zeros(scale.shape, dtype=np.int64)}


declaration = Declaration(
    equation=dequantize,
    arguments=arguments,
    core={"q": 2, "scale": 2, "zero_point": 2, "bias": 2},
    precision="fused",
    dtypes=("float32", "bfloat16", "float16"),
    formats={"": "dtype", "q": "q_dtype", "scale": "scale_dtype", "zero_point": "q_dtype"},
    as_codes=("zero_point",),
    positive=("scale", "global_scale"),
    wide_arguments=("global_scale", "bias"),
    open_questions={"global_scale": ask_global_scale, "stored_zero_point": ask_zero_point},
)
