"""What must hold of quantize."""

import numpy as np

from reference_numpy._narrow import spread

from .calls.operation import Operation
from .helpers.assertions import assert_identical, assert_true, assert_unmoved, assert_within, exactly
from .helpers.conventions import assert_convention
from .helpers.narrow import choose_block, lay_in_rows, permute_in_blocks, take_block
from .inputs.draw import Draw
from .operations._narrow import draw_near_one, draw_powers, list_midpoints, shape_of_scales
from .operations._narrow_keywords import draw_each_format, draw_keywords
from .operations.quantize import draw_inputs
from .specification.float_errors import ignored_float_errors
from .specification.formats import FORMATS
from .specification.narrow_formats import FLOATING_ELEMENTS
from .trials.invariant import invariant

MX = "Rouhani et al. 2023, arXiv:2310.10537, section 5"
FP8 = "Micikevicius et al. 2022, arXiv:2209.05433, section 3"
SIDE = 256  # of the square of all numbers of sixteen bits


@invariant("B", source=FP8)
def test_half_a_step(quantize: Operation, draw: Draw) -> None:
    """No element moves by more than half the step between the numbers around it, where none is beyond the largest."""
    keywords = draw_keywords(draw)
    (x, scale), given = draw_inputs(draw, keywords)
    given.pop("zero_point", None)
    if "global_scale" in given:
        given["global_scale"] = np.asarray(1.0)
    q = quantize(x, scale, **given)
    f, t = keywords.format, x / spread(scale, keywords.block, x.shape)
    step = np.maximum(np.ldexp(1.0, np.frexp(t)[1] - f.precision), f.quantum)
    slack = 2 * FORMATS["float32"].u * np.abs(t) + np.where(np.abs(x) < FORMATS["float32"].tiny, step, 0.0)
    inside = (np.abs(t) <= f.max) & (f.is_signed | (t >= 0))
    low, high = (np.where(inside, t + side * (step / 2 + slack), side * 2 * f.max) for side in (-1, 1))
    assert_within(q, exactly(low), exactly(high))


@invariant("E", source=FP8, cost=4)
def test_round_trip(quantize: Operation, draw: Draw) -> None:
    """Each number of the format, times its scale, is quantized to itself: subnormal ones, both signs, and all odd fractions.
    A product that x's dtype lacks is left out.
    """
    for keywords in draw_each_format(draw):
        f = keywords.format
        finite = np.unique(f.numbers[np.isfinite(f.numbers)])
        q = lay_in_rows(draw.rng.permutation(finite[1:] if f.is_integer and f.is_signed else finite), draw, f)
        scale = draw_near_one(draw, shape_of_scales(q.shape, keywords.block), keywords.scale_dtype)
        if keywords.scale_dtype != "float8_e4m3fn":
            scale = scale * 2.0 ** draw.one_of((-6, 0, 0) if draw.operation.dtype == "float16" else (-60, -6, 0, 20, 60))
        spacing = spread(scale, keywords.block, q.shape)
        product, near = q * spacing, spacing / 4 if f.is_integer else 2.0**-6 * np.abs(q * spacing)
        x = draw.format.round(product)
        kept = np.abs(x - product) <= near  # those that x's dtype has, nearly
        assert_identical(quantize(np.where(kept, x, 0.0), scale, **keywords.given), np.where(kept, q, 0.0))


@invariant("E", source=FP8, cost=4)
def test_ties(quantize: Operation, draw: Draw) -> None:
    """Where the scale is a power of two, each midpoint goes to the neighbour whose code is even, and the numbers beside a
    midpoint go to the nearer one. An integer is rounded before its zero point is added.
    """
    for keywords in draw_each_format(draw):
        f, points = keywords.format, list_midpoints(keywords.format)
        beside = [points * (1 + side * 2.0 ** (1 - draw.format.precision)) for side in (-1, 1)]
        t = lay_in_rows(draw.rng.permutation(np.concatenate([points, *beside, [-0.0]])), draw, f)
        scale = draw_powers(draw, shape_of_scales(t.shape, keywords.block), -3, 0)
        given = dict(keywords.given)
        if f.is_integer and quantize.accepts("zero_point") and draw.one_of((True, False)):
            given["zero_point"] = draw.rng.integers(int(f.least), int(f.max), scale.shape) | 1
        q = quantize(draw.format.round(t * spread(scale, keywords.block, t.shape)), scale, **given)
        assert_identical(q, q.call.value)


@invariant("E", source=FP8, cost=14, each_dtype=True)
def test_all_numbers(quantize: Operation, draw: Draw) -> None:
    """Every number of sixteen bits, divided by a power of two, is rounded as each format says: those of x's dtype, or of
    bfloat16 where x is float32.
    """
    bits = np.arange(1 << 16, dtype=np.uint16)
    stored = bits.view(np.float16) if draw.operation.dtype == "float16" else (bits.astype(np.uint32) << 16).view(np.float32)
    with ignored_float_errors():
        numbers = stored.astype(np.float64)
    numbers = draw.rng.permutation(np.where(np.isfinite(numbers), numbers, 0.0))
    for keywords in draw_each_format(draw):
        x = lay_in_rows(numbers, draw, keywords.format, SIDE)
        scale = draw_powers(draw, shape_of_scales(x.shape, keywords.block), -3, 3)
        q = quantize(x, scale, **keywords.given)
        assert_identical(q, q.call.value)


@invariant("E", source=MX)
def test_powers_of_two_cancel(quantize: Operation, draw: Draw) -> None:
    """quantize(2ᵏ x, 2ᵏ scale) = quantize(x, scale)."""
    keywords = draw_keywords(draw, scales=("float32", "float8_e8m0fnu"))
    (x, scale), given = draw_inputs(draw, keywords, exact=True)
    k = draw.one_of((-2, -1, 1, 2))
    tiny, largest = max(draw.format.tiny, FORMATS["float32"].tiny), draw.format.max
    size = np.abs(x)
    x = np.where((size * 2.0**k <= largest) & (np.minimum(size, size * 2.0**k) >= tiny), x, 0.0)
    assert_identical(quantize(x * 2.0**k, scale * 2.0**k, **given), quantize(x, scale, **given))


@invariant("E", source=FP8)
def test_odd(quantize: Operation, draw: Draw) -> None:
    """quantize(−x) = −quantize(x), where no zero point and no limit of the integers stands between."""
    keywords = draw_keywords(draw, *FLOATING_ELEMENTS, "int8", "int4")
    (x, scale), given = draw_inputs(draw, keywords)
    given.pop("zero_point", None)
    if keywords.format.is_integer:
        limit = keywords.format.max * spread(scale, keywords.block, x.shape)
        x = np.where(np.abs(x) <= limit, x, 0.0)
    assert_identical(quantize(-x, scale, **given), -quantize(x, scale, **given).value)


@invariant("E", source=FP8)
def test_monotone(quantize: Operation, draw: Draw) -> None:
    """With the same scale, a larger element has no smaller number."""
    (x, scale), given = draw_inputs(draw, draw_keywords(draw))
    other = draw.format.round(draw.rng.choice((0.5, 0.999, 1.001, 2.0), x.shape) * x)
    low, high = (quantize(pick(x, other), scale, **given).value for pick in (np.minimum, np.maximum))
    falls = low > high
    assert_true(not np.any(falls), f"{int(np.sum(falls))} of {x.size} larger elements have a smaller number")


@invariant("E")
def test_permuted_in_a_block(quantize: Operation, draw: Draw) -> None:
    """Permuting the elements of each block permutes its numbers."""
    keywords = draw_keywords(draw)
    (x, scale), given = draw_inputs(draw, keywords)
    rows, columns = (permute_in_blocks(draw, n, size) for n, size in zip(x.shape[-2:], keywords.block, strict=True))
    before = quantize(x, scale, **given)
    after = quantize(np.ascontiguousarray(x[..., rows, :][..., columns]), scale, **given)
    assert_unmoved(after, before[..., rows[:, None], columns])


@invariant("E")
def test_blocks_are_independent(quantize: Operation, draw: Draw) -> None:
    """Other numbers, and another scale, in one block change no other block."""
    keywords = draw_keywords(draw)
    (x, scale), given = draw_inputs(draw, keywords)
    here = np.zeros(scale.shape)
    here[choose_block(draw, scale.shape, x.size)] = 1.0
    there = spread(here, keywords.block, x.shape) == 0
    other = quantize(np.where(there, x, draw.format.round(-x / 2)), np.where(here == 1, scale * 2, scale), **given)
    before = quantize(x, scale, **given)
    assert_unmoved(other, before, there)


@invariant("E")
def test_block_by_block(quantize: Operation, draw: Draw) -> None:
    """The blocks quantized one by one give what they give together, the shorter last ones too."""
    keywords = draw_keywords(draw)
    (x, scale), given = draw_inputs(draw, keywords)
    whole = quantize(x, scale, **given)
    r, c = (draw.one_of((0, n - 1)) for n in scale.shape[-2:])
    part, (rows, columns) = take_block(draw, keywords.format, x, keywords.block, (r, c))
    at = (..., slice(r, r + 1), slice(c, c + 1))
    if "zero_point" in given:
        given = {**given, "zero_point": given["zero_point"][at]}
    assert_unmoved(quantize(part, np.ascontiguousarray(scale[at]), **given), whole[..., rows, columns])


@invariant("E", source=FP8, cost=4)
def test_saturation(quantize: Operation, draw: Draw) -> None:
    """Finite numbers beyond the largest of the format give it, up to the largest of x's dtype: never NaN, never an infinity."""
    for keywords in draw_each_format(draw):
        f, most = keywords.format, draw.format.max
        sizes = np.concatenate([f.max * np.array([1.0, 1.002, 1.03, 1.036, 1.1, 1.5, 2.0, 2.7, 256.0]), [most]])
        x = lay_in_rows(draw.format.round(np.clip(np.concatenate([sizes, -sizes]), -most, most)), draw, f, 20)
        scale = np.full(shape_of_scales(x.shape, keywords.block), draw.one_of((1.0, 1.0, 0.125, 4.0)))
        q = quantize(x, scale, **keywords.given)
        assert_true(bool(np.all(np.isfinite(q.value))), "a finite number became NaN or an infinity")
        assert_identical(q, q.call.value)


# --- conventions ----------------------------------------------------------------------------------------------------


@invariant("E", source="OCP MX 1.0, section 5.3.3")
def test_fp4_ties(quantize: Operation, draw: Draw) -> None:
    """float4_e2m1fn rounds every midpoint in one way: to the even code, away from zero, or toward it."""
    assert_convention(quantize, draw, "fp4_ties")


@invariant("E", needs=("keyword:global_scale",))
def test_global_scale(quantize: Operation, draw: Draw) -> None:
    """The global scale multiplies the scales in every call, or divides them in every call."""
    assert_convention(quantize, draw, "global_scale")


@invariant("E")
def test_int8_range(quantize: Operation, draw: Draw) -> None:
    """Without a zero point, the smallest integer that is given is that of the format, or the opposite of the largest."""
    assert_convention(quantize, draw, "int8_range")


# --- levels ---------------------------------------------------------------------------------------------------------


@invariant("E", level="signed-zero", source=FP8)
def test_signed_zero(quantize: Operation, draw: Draw) -> None:
    """−0, and a negative number that rounds to 0, give −0 in a format that has one, and +0 where x is positive."""
    for keywords in draw_each_format(draw, *(name for name in FLOATING_ELEMENTS if not name.endswith("uz"))):
        f = keywords.format
        x = lay_in_rows(draw.format.round(f.quantum * np.array([-0.0, -0.25, -0.49, 0.0, 0.25, 0.49])), draw, f, 24)
        q = quantize(x, np.ones(shape_of_scales(x.shape, keywords.block)), **keywords.given)
        assert_identical(np.copysign(1.0, q.value), np.copysign(1.0, x))


@invariant("E", level="limits", source=FP8)
def test_infinite(quantize: Operation, draw: Draw) -> None:
    """±∞ give the largest and the smallest number, also in a format that has infinities."""
    for keywords in draw_each_format(draw):
        x = lay_in_rows(np.array([np.inf, 1.0, -np.inf, 0.0]), draw, keywords.format, 8)
        q = quantize(x, np.ones(shape_of_scales(x.shape, keywords.block)), **keywords.given)
        assert_identical(q, q.call.value)
