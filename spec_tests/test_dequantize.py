"""What must hold of dequantize."""

from types import MappingProxyType

import numpy as np

from reference_numpy._narrow import spread

from .calls.operation import Operation
from .helpers.assertions import assert_identical, assert_unmoved
from .helpers.conventions import assert_convention, holds_value
from .helpers.narrow import choose_block, lay_in_rows, permute_in_blocks, take_block
from .inputs.draw import Draw
from .operations._narrow import draw_powers, draw_uneven_sides, shape_of_scales
from .operations._narrow_keywords import draw_each_format, draw_keywords
from .operations.dequantize import draw_inputs, draw_numbers, draw_zero_points, limit_exponents, take
from .specification.narrow_formats import FLOATING_ELEMENTS, NARROW_FORMATS
from .trials.invariant import invariant

MX = "Rouhani et al. 2023, arXiv:2310.10537, section 5"
FP8 = "Micikevicius et al. 2022, arXiv:2209.05433, section 3"
LARGEST_SCALES = MappingProxyType({"float32": 2.0**100, "float8_e4m3fn": 448.0, "float8_e8m0fnu": 2.0**127})
INTEGERS = ("int8", "int4", "uint8", "uint4")


@invariant("E", source=FP8, cost=4)
def test_all_codes(dequantize: Operation, draw: Draw) -> None:
    """Every code stands for its number, times the scale: all that are finite, of each format, with powers of two as scales."""
    for keywords in draw_each_format(draw):
        f = keywords.format
        q = lay_in_rows(draw.rng.permutation(f.numbers[np.isfinite(f.numbers)]), draw, f)
        low, high = limit_exponents(draw, f)
        scale = draw_powers(draw, shape_of_scales(q.shape, keywords.block), max(low, -3), min(high, 3))
        assert_identical(dequantize(q, scale, **keywords.given), draw.format.round(q * spread(scale, keywords.block, q.shape)))


@invariant("E", source=MX)
def test_powers_of_two(dequantize: Operation, draw: Draw) -> None:
    """A scale that is twice as large gives numbers twice as large, bit for bit."""
    keywords = draw_keywords(draw, scales=("float32", "float8_e8m0fnu"))
    (q, scale), given = draw_inputs(draw, keywords)
    given.pop("bias", None)
    k = draw.one_of((-2, -1, 1, 2))
    low, high = limit_exponents(draw, keywords.format)
    scale = np.clip(scale, 2.0 ** (low + 2), 2.0 ** (high - 2))
    before = dequantize(q, scale, **given)
    kept = np.minimum(np.abs(before.value), np.abs(before.value) * 2.0**k) >= draw.format.tiny  # others may lose bits
    after = dequantize(q, scale * 2.0**k, **given)
    assert_identical(np.where(kept, after.value, 0.0), np.where(kept, before.value * 2.0**k, 0.0))


@invariant("E", source=FP8)
def test_odd(dequantize: Operation, draw: Draw) -> None:
    """dequantize(−q) = −dequantize(q), where no zero point and no bias stands between."""
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, "int8", "int4")
    (q, scale), given = draw_inputs(draw, keywords)
    given = {name: x for name, x in given.items() if name not in ("zero_point", "bias")}
    q = np.maximum(q, -keywords.format.max)
    assert_identical(dequantize(-q, scale, **given), -dequantize(q, scale, **given).value)


@invariant("E", needs=("keyword:zero_point",))
def test_zero_point_is_zero(dequantize: Operation, draw: Draw) -> None:
    """The number that the zero point stands for is zero, whatever the scale is: it gives 0, or the bias where there is one."""
    keywords = draw_keywords(draw, *INTEGERS)
    (q, scale), given = draw_inputs(draw, keywords)
    stored = draw_zero_points(draw, keywords.format, scale.shape)
    zero = stored + (keywords.format.name == "uint4" and holds_value(dequantize, "stored_zero_point", "minus one"))
    at = np.broadcast_to(spread(zero, keywords.block, q.shape), q.shape).astype(float)
    bias = given.get("bias", np.zeros(scale.shape))
    expected = np.broadcast_to(spread(bias, keywords.block, q.shape), q.shape)
    assert_identical(dequantize(at, scale, **{**given, "zero_point": stored}), draw.format.round(expected))


@invariant("E", needs=("keyword:zero_point",))
def test_difference(dequantize: Operation, draw: Draw) -> None:
    """q − zero_point has one bit more than either, and is exact: also of numbers at both ends of the range."""
    for keywords in draw_each_format(draw, *INTEGERS):
        f = keywords.format
        ends = np.array([f.least, f.least + 1, f.max - 1, f.max])
        q = lay_in_rows(draw.rng.permutation(np.concatenate([ends, f.numbers])), draw, f)
        low, high = limit_exponents(draw, f)
        scale = draw_powers(draw, shape_of_scales(q.shape, keywords.block), max(low, -3), min(high, 3))
        zero_point = draw.rng.choice((int(f.least), int(f.max) - 1), scale.shape)
        y = dequantize(q, scale, **{**keywords.given, "zero_point": zero_point})
        assert_identical(y, draw.format.round(y.call.value))


@invariant("E", needs=("keyword:zero_point",))
def test_shifted_together(dequantize: Operation, draw: Draw) -> None:
    """q and zero_point shifted by the same number change nothing."""
    keywords = draw_keywords(draw, *INTEGERS)
    f = keywords.format
    (q, scale), given = draw_inputs(draw, keywords)
    half = (int(f.max) - int(f.least)) // 2
    low = int(f.least)
    q = np.where(q > low + half, q - half - 1, q)
    z = draw.rng.integers(low, low + half, scale.shape)  # both may be shifted up, and uint4's stays below 15
    k = draw.integer(1, half)
    before = dequantize(q, scale, **{**given, "zero_point": z})
    assert_identical(dequantize(q + k, scale, **{**given, "zero_point": z + k}), before.value)


@invariant("E", needs=("keyword:bias",))
def test_bias_is_added_last(dequantize: Operation, draw: Draw) -> None:
    """Where q is 0, the result is the bias. It is added once, after the scale."""
    keywords = draw_keywords(draw, *INTEGERS)
    (q, scale), given = draw_inputs(draw, keywords)
    given.pop("zero_point", None)
    most = keywords.format.max * scale / 2
    bias = (draw.rng.uniform(-1, 1, scale.shape) * most).astype(np.float32).astype(np.float64)
    expected = np.broadcast_to(spread(bias, keywords.block, q.shape), q.shape)
    assert_identical(dequantize(np.zeros(q.shape), scale, **{**given, "bias": bias}), draw.format.round(expected))


@invariant("E", needs=("keyword:global_scale",), source="compressed-tensors, NVFP4")
def test_two_levels(dequantize: Operation, draw: Draw) -> None:
    """A global scale that is a power of two multiplies every number by it, or divides every number, bit for bit."""
    take(draw, "global_scale")
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    (q, scale), given = draw_inputs(draw, keywords, exact=True)
    low, high = limit_exponents(draw, keywords.format)
    scale, g = np.clip(scale, 2.0 ** max(low + 3, -6), 2.0 ** min(high - 3, 3)), 2.0 ** draw.one_of((-3, -1, 1, 2))
    alone = dequantize(q, scale, **{**given, "global_scale": np.asarray(1.0)})
    both = dequantize(q, scale, **{**given, "global_scale": np.asarray(g)})
    factor = 1 / g if holds_value(dequantize, "global_scale", "divisor") else g
    assert_identical(both, draw.format.round(alone.value * factor))


@invariant("E")
def test_permuted_in_a_block(dequantize: Operation, draw: Draw) -> None:
    """Permuting the numbers of each block permutes the results."""
    keywords = draw_keywords(draw)
    (q, scale), given = draw_inputs(draw, keywords)
    rows, columns = (permute_in_blocks(draw, n, size) for n, size in zip(q.shape[-2:], keywords.block, strict=True))
    before = dequantize(q, scale, **given)
    after = dequantize(np.ascontiguousarray(q[..., rows, :][..., columns]), scale, **given)
    assert_unmoved(after, before[..., rows[:, None], columns])


@invariant("E")
def test_blocks_are_independent(dequantize: Operation, draw: Draw) -> None:
    """Other numbers, and another scale, in one block change no other block."""
    keywords = draw_keywords(draw)
    (q, scale), given = draw_inputs(draw, keywords, sides=draw_uneven_sides(draw, keywords.format, keywords.block))
    here = np.zeros(scale.shape)
    here[choose_block(draw, scale.shape, q.size)] = 1.0
    there = spread(here, keywords.block, q.shape) == 0
    other = np.where(there, q, draw_numbers(draw, keywords.format, q.shape))
    largest = min(2 * float(np.max(scale)), LARGEST_SCALES[keywords.scale_dtype])
    after = dequantize(other, np.where(here == 1, draw.one_of((largest, scale / 2)), scale), **given)
    assert_unmoved(after, dequantize(q, scale, **given), there)


@invariant("E")
def test_block_by_block(dequantize: Operation, draw: Draw) -> None:
    """The blocks dequantized one by one give what they give together, the shorter last ones too."""
    keywords = draw_keywords(draw)
    (q, scale), given = draw_inputs(draw, keywords, sides=draw_uneven_sides(draw, keywords.format, keywords.block))
    whole = dequantize(q, scale, **given)
    r, c = (draw.one_of((0, n - 1)) for n in scale.shape[-2:])
    part, (rows, columns) = take_block(draw, keywords.format, q, keywords.block, (r, c))
    at = (..., slice(r, r + 1), slice(c, c + 1))
    given = {name: x[at] if name in ("zero_point", "bias") else x for name, x in given.items()}
    assert_unmoved(dequantize(part, np.ascontiguousarray(scale[at]), **given), whole[..., rows, columns])


# --- conventions ----------------------------------------------------------------------------------------------------


@invariant("E", needs=("keyword:global_scale",))
def test_global_scale(dequantize: Operation, draw: Draw) -> None:
    """The global scale multiplies the scales in every call, or divides them in every call."""
    assert_convention(dequantize, draw, "global_scale")


@invariant("E", needs=("keyword:zero_point",))
def test_stored_zero_point(dequantize: Operation, draw: Draw) -> None:
    """A zero point of uint4 is stored as it is in every call, or less one in every call."""
    assert_convention(dequantize, draw, "stored_zero_point")


# --- levels ---------------------------------------------------------------------------------------------------------


@invariant("E", level="signed-zero", source=FP8)
def test_signed_zero(dequantize: Operation, draw: Draw) -> None:
    """The code of −0 gives −0, and that of 0 gives +0."""
    for keywords in draw_each_format(draw, *(name for name in FLOATING_ELEMENTS if not name.endswith("uz"))):
        q = lay_in_rows(np.array([-0.0, 0.0, 1.0, -1.0]), draw, keywords.format, 8)
        y = dequantize(q, np.ones(shape_of_scales(q.shape, keywords.block)), **keywords.given)
        assert_identical(np.copysign(1.0, y.value), np.copysign(1.0, q))


@invariant("E", level="limits", source=FP8)
def test_infinite(dequantize: Operation, draw: Draw) -> None:
    """The codes of ±∞ give ±∞."""
    for keywords in draw_each_format(draw, *(f.name for f in NARROW_FORMATS.values() if f.has_infinity)):
        q = lay_in_rows(np.array([np.inf, 1.0, -np.inf, 0.0]), draw, keywords.format, 8)
        y = dequantize(q, np.full(shape_of_scales(q.shape, keywords.block), 0.5), **keywords.given)
        assert_identical(y, q / 2)


@invariant("E", level="nan-propagation", source=MX)
def test_nan_codes(dequantize: Operation, draw: Draw) -> None:
    """A code of NaN gives NaN, and so does every number of a block whose scale is NaN, in float8_e8m0fnu. No other does."""
    for keywords in draw_each_format(draw, *(name for name in FLOATING_ELEMENTS if NARROW_FORMATS[name].nan is not None)):
        q = lay_in_rows(np.array([1.0, -1.0, 0.5, np.nan, 2.0, -2.0, 0.0, 1.5]), draw, keywords.format, 8)
        scale = np.ones(shape_of_scales(q.shape, keywords.block))
        if keywords.scale_dtype == "float8_e8m0fnu":
            scale[..., -1] = np.nan
        assert_identical(dequantize(q, scale, **keywords.given), q * spread(scale, keywords.block, q.shape))
