"""How dynamic_quantize is drawn."""

from typing import Any

import numpy as np

from reference_numpy._narrow import spread
from reference_numpy.dynamic_quantize import dynamic_quantize
from spec_tests.calls.violation import NotImplementedVariant
from spec_tests.inputs.draw import Draw
from spec_tests.operations._narrow import choose, draw_block, draw_powers, draw_sides, list_midpoints, shape_of_scales
from spec_tests.operations._narrow_keywords import SCALES_OF_FLOATS, Keywords
from spec_tests.specification.conventions import CONVENTIONS
from spec_tests.specification.declaration import Declaration
from spec_tests.specification.narrow_formats import ELEMENT_FORMATS, FLOATING_ELEMENTS, NARROW_FORMATS

RULES = ("rceil", "floor", "even")
TINY = 2.0**-126  # the smallest normal number of float32


def draw_keywords(draw: Draw, *formats: str, scales: tuple[str, ...] = (), floor: bool = True) -> Keywords:
    """Draw a format and what goes with it: the format and the rule of its scales, a floor, and whether there is a zero point."""
    fitting = [name for name in formats or ELEMENT_FORMATS if _list_symmetric(draw, name) and _list_scales(draw, name, scales)]
    dtype = choose(draw, "dtype", *(fitting or formats or ELEMENT_FORMATS))
    f = NARROW_FORMATS[dtype["dtype"]]
    symmetric = choose(draw, "symmetric", *(_list_symmetric(draw, f.name) or (True,)))
    scale_dtype = choose(draw, "scale_dtype", *(_list_scales(draw, f.name, scales) or ("float32",)))
    given = {**dtype, **draw_block(draw), **scale_dtype, **symmetric}
    kind, rules = str(scale_dtype.get("scale_dtype", "float32")), draw.operation.domain.get("scale_rounding", RULES)
    if kind == "float8_e8m0fnu":
        given.update(choose(draw, "scale_rounding", *rules))
    elif RULES[0] not in rules:
        given["scale_rounding"] = rules[0]  # which decides nothing here
    return Keywords(f, {**given, **_draw_floor(draw, kind, symmetric=symmetric.get("symmetric", True), floor=floor)})


def _list_symmetric(draw: Draw, name: str) -> tuple[bool, ...]:
    """Return with which values of symmetric a format goes, as far as the function takes them."""
    allowed = draw.operation.domain.get("symmetric", (True, False) if draw.operation.accepts("symmetric") else (True,))
    known = {"int8": (True, False), "uint8": (False,), "uint4": (False,)}.get(name, (True,))
    return tuple(value for value in known if value in allowed)


def _list_scales(draw: Draw, name: str, scales: tuple[str, ...]) -> tuple[str, ...]:
    """Return which formats of scales go with a format, as far as the function takes them."""
    allowed = draw.operation.domain.get(
        "scale_dtype", SCALES_OF_FLOATS if draw.operation.accepts("scale_dtype") else ("float32",)
    )
    known = ("float32",) if NARROW_FORMATS[name].is_integer else SCALES_OF_FLOATS
    return tuple(value for value in known if value in allowed and value in (scales or known))


def _draw_floor(draw: Draw, scale_dtype: str, *, symmetric: bool, floor: bool) -> dict[str, Any]:
    """Draw a floor, mostly 0, which is a number of float32."""
    takes = floor and symmetric and (scale_dtype == "float32" or (scale_dtype == "float8_e8m0fnu" and floors_sizes(draw)))
    known = draw.operation.domain.get("eps")
    if known is not None:
        return choose(draw, "eps", *(value for value in known if value == 0 or takes))
    if not (takes and draw.operation.accepts("eps") and draw.one_of((False, False, True))):
        return {}
    return {"eps": float(np.float32(2.0 ** draw.rng.uniform(-34, 3)))}


def floors_sizes(draw: Draw) -> bool:
    """Whether it is known that eps is a floor of the largest number of a block, and not of the scale."""
    return draw.operation.possible_values(CONVENTIONS["floored"]) == ("amax",)


def place_ends(shape: tuple[int, ...], block: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the indices of the first and of the last element of each block."""
    starts, stops = [], []
    for n, size in zip(shape[-2:], block, strict=True):
        start = np.arange(0, n, n if size is None else size)
        starts.append(start)
        stops.append(np.minimum(start + (n if size is None else size), n) - 1)
    return (..., starts[0][:, None], starts[1]), (..., stops[0][:, None], stops[1])


def draw_exact(draw: Draw, keywords: Keywords, shape: tuple[int, ...]) -> np.ndarray:
    """Draw numbers whose scales are powers of two: quotients are midpoints, or numbers of the format."""
    f, rng = keywords.format, draw.rng
    finite = np.unique(f.numbers[np.isfinite(f.numbers)])
    inside = list_midpoints(f)[:-2]
    t = np.where(rng.random(shape) < 0.6, rng.choice(inside, shape), rng.choice(finite, shape))
    first, last = place_ends(shape, keywords.block)
    of_blocks = shape_of_scales(shape, keywords.block)
    if keywords.given.get("symmetric", True):
        t = np.clip(t, -f.max, f.max)
        t[last] = rng.choice((-1.0, 1.0), of_blocks) * f.max
    else:
        below = rng.integers(0, int(f.max - f.least), of_blocks) + 0.0
        if draw.format.precision > f.bits:  # so that x's dtype has halves: zero points are then ties
            below += rng.choice((0.0, 0.5), of_blocks)
        t = np.clip(t - f.least, 0, f.max - f.least) - spread(below, keywords.block, shape)
        t[first], t[last] = -below, f.max - f.least - below
    return t * spread(draw_exponents(draw, keywords, of_blocks), keywords.block, shape)


def draw_exponents(draw: Draw, keywords: Keywords, shape: tuple[int, ...]) -> np.ndarray:
    """Draw powers of two that scales in their format can be, and with which x does not leave the range of its dtype."""
    low, high = (-6, 8) if keywords.scale_dtype == "float8_e4m3fn" else (-20, 20)
    f = keywords.format
    most = int(np.floor(np.log2(draw.format.max / (f.max - min(f.least, 0)))))
    return draw_powers(draw, shape, max(low, -6) if draw.operation.dtype == "float16" else low, min(high, most))


def draw_spread(draw: Draw, keywords: Keywords, shape: tuple[int, ...]) -> np.ndarray:
    """Draw blocks of every size: random ones, zeros, equal numbers, sizes at which scales step, and very small ones."""
    f, rng, of_blocks = keywords.format, draw.rng, shape_of_scales(shape, keywords.block)
    narrow = draw.operation.dtype == "float16"
    low, high = (-8, 6) if narrow else (-9, 9) if keywords.scale_dtype == "float8_e4m3fn" else (-40, 40)
    size = 2.0 ** rng.uniform(low, high, of_blocks)
    power = draw_powers(draw, of_blocks, -6 if narrow else low, 0 if narrow else high)
    step = 1 + rng.choice((-1, 0, 0, 1), of_blocks) * 2.0 ** (1 - draw.format.precision)
    least = 2.0 ** rng.uniform(-24 if narrow else -149, -14 if narrow else -112, of_blocks)
    kind = rng.choice(6, of_blocks, p=(0.4, 0.2, 0.1, 0.12, 0.08, 0.1))
    size = np.choose(kind, [size, power * f.max * step, power * step, np.zeros(of_blocks), size, least])
    t = rng.uniform(-1, 1, shape) * rng.choice((1.0, 1.0, 0.1, 0.01), shape)
    t = np.where(spread(kind == 4, keywords.block, shape), rng.choice((-1.0, 1.0)), t)
    t[place_ends(shape, keywords.block)[rng.integers(2)]] = rng.choice((-1.0, 1.0), of_blocks)
    return t * spread(size, keywords.block, shape)


def draw_inputs(draw: Draw, keywords: Keywords, *, exact: bool | None = None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a call with these keywords. exact: scales that are powers of two, as in a half of the examples."""
    exact = draw.one_of((True, False)) if exact is None else exact
    shape = (*draw.batch(), *draw_sides(draw, keywords.format, keywords.block))
    given = dict(keywords.given)
    x = (draw_exact if exact else draw_spread)(draw, keywords, shape)
    if keywords.scale_dtype == "float8_e4m3fn" and "global_scale" in draw.variants("global_scale"):
        power = draw_powers(draw, (), -3, 3)
        g = power if exact else np.asarray(np.float32(power * draw.rng.uniform(1, 2)), dtype=np.float64)
        given["global_scale"], x = g, x * g
    f = draw.format
    return (f.round(np.clip(x, -f.max, f.max)),), given


def arguments(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return draw_inputs(draw, draw_keywords(draw))


def fill(draw: Draw, keywords: Keywords, largest: float) -> np.ndarray:
    """Draw the sides of a matrix, and return one of this number alone."""
    return np.full(draw_sides(draw, keywords.format, keywords.block), float(largest))


def ask_divisor(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw blocks whose largest number is the largest integer."""
    keywords = draw_keywords(draw, "int8", "int4", floor=False)
    given = {**keywords.given, **choose(draw, "symmetric", True)}
    return (fill(draw, keywords, keywords.format.max),), given


def ask_small_scale(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw blocks whose scale is 2^-8, below the normal numbers of float8_e4m3fn."""
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    if keywords.scale_dtype != "float8_e4m3fn":
        raise NotImplementedVariant("its domain has no scales in float8_e4m3fn")
    return (fill(draw, keywords, keywords.format.max * 2.0**-8),), keywords.given


def ask_floor(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw blocks of zeros, with a floor."""
    if not draw.operation.accepts("eps"):
        raise NotImplementedVariant("the function takes no eps", "signature")
    keywords = draw_keywords(draw, *(name for name in ELEMENT_FORMATS if NARROW_FORMATS[name].is_signed), scales=("float32",))
    given = {**keywords.given, **choose(draw, "symmetric", True)}
    eps = max(draw.operation.domain.get("eps", (2.0**-10,)))
    if eps == 0:
        raise NotImplementedVariant("its domain has no eps above 0")
    return (fill(draw, keywords, 0.0),), {**given, "eps": eps}


def ask_ties(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw midpoints of float4_e2m1fn, and its largest number in each block, so that the scale is 1."""
    keywords = draw_keywords(draw, "float4_e2m1fn", floor=False)
    x = fill(draw, keywords, 0.0)
    points = list_midpoints(NARROW_FORMATS["float4_e2m1fn"])[:-2]
    x = np.resize(points, x.shape)
    x[place_ends(x.shape, keywords.block)[1]] = 6.0
    return (x,), keywords.given


def ask_global_scale(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Draw a global scale of 2."""
    if not draw.operation.accepts("global_scale"):
        raise NotImplementedVariant("the function takes no global_scale", "signature")
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    return (fill(draw, keywords, keywords.format.max),), {**keywords.given, "global_scale": np.asarray(2.0)}


declaration = Declaration(
    equation=dynamic_quantize,
    arguments=arguments,
    core={"x": 2},
    precision="fused",
    dtypes=("float32", "bfloat16", "float16"),
    results={"q": "", "scale": "float32", "zero_point": ""},
    optional_results=("zero_point",),
    judged_at=("scale", "zero_point"),
    formats={"q": "dtype", "scale": "scale_dtype", "zero_point": "dtype"},
    as_codes=("zero_point",),
    positive=("global_scale",),
    wide_arguments=("global_scale",),
    choices={"scale_rounding": RULES},
    open_questions={
        "fp4_ties": ask_ties,
        "global_scale": ask_global_scale,
        "integer_divisor": ask_divisor,
        "small_fp8_scale": ask_small_scale,
        "floored": ask_floor,
    },
)
