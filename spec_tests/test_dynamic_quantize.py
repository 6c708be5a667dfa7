"""What must hold of dynamic_quantize."""

from typing import Any

import numpy as np

from reference_numpy._narrow import spread
from reference_numpy._scales import divisor, reduce_blocks

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_finite, assert_identical, assert_true, assert_within, exactly
from .helpers.conventions import assert_convention, holds_value
from .helpers.narrow import choose_block, permute_in_blocks, take_block
from .inputs.draw import Draw, within_domain
from .operations._narrow import BLOCKS, choose, draw_powers, draw_sides, shape_of_scales
from .operations._narrow_keywords import Keywords
from .operations.dynamic_quantize import RULES, TINY, draw_inputs, draw_keywords, place_ends
from .specification.formats import FORMATS
from .specification.narrow_formats import ELEMENT_FORMATS, FLOATING_ELEMENTS, NARROW_FORMATS
from .trials.invariant import invariant

MX = "OCP Microscaling Formats 1.0, section 6.3"
SIGNED_INTEGERS = ("int8", "int4")
U = FORMATS["float32"].u


def symmetric_keywords(draw: Draw, *formats: str, scales: tuple[str, ...] = (), floor: bool = True) -> Keywords:
    """Draw keywords without zero points."""
    named = formats or tuple(name for name in ELEMENT_FORMATS if NARROW_FORMATS[name].is_signed)
    keywords = draw_keywords(draw, *named, scales=scales, floor=floor)
    return Keywords(keywords.format, {**keywords.given, **choose(draw, "symmetric", True)})


def call(operation: Operation, x: np.ndarray, given: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the numbers, the scales, and the zero points or None."""
    q, scale, *zero_point = operation(x, **given)
    return q, scale, (zero_point[0] if zero_point else None)


@invariant("B", source=MX)
def test_half_a_step(dynamic_quantize: Operation, draw: Draw) -> None:
    """No number moves by more than half the step between the numbers around it, at the scale that is returned."""
    keywords = draw_keywords(draw)
    (x,), given = draw_inputs(draw, keywords)
    given = {name: value for name, value in given.items() if name != "global_scale"}
    q, scale, zero_point = call(dynamic_quantize, x, given)
    f, s = keywords.format, spread(scale.value, keywords.block, x.shape)
    normal = (s >= TINY) | ((s > 0) & (keywords.scale_dtype != "float32"))
    t = x / np.where(normal, s, 1.0)
    z = 0.0 if zero_point is None else spread(zero_point.value, keywords.block, x.shape)
    step = np.maximum(np.ldexp(1.0, np.frexp(t)[1] - f.precision), f.quantum)
    slack = 4 * U * np.abs(t) + np.where(np.abs(x) < TINY, step, 0.0)
    inside = normal & (t + z >= f.least) & (t + z <= f.max)
    low, high = (np.where(inside, t + z + side * (step / 2 + slack), side * 4 * f.max) for side in (-1, 1))
    assert_within(exactly(q.value), exactly(low), exactly(high))


@invariant("E", source="DeepSeek-AI 2024, arXiv:2412.19437, section 3.3.2")
def test_largest_of_a_block(dynamic_quantize: Operation, draw: Draw) -> None:
    """With a scale in float32, the largest number of each block becomes the largest number of the format."""
    keywords = symmetric_keywords(draw, scales=("float32",), floor=False)
    if keywords.scale_dtype != "float32":
        raise NotImplementedVariant("its domain has no scales in float32")
    (x,), given = draw_inputs(draw, keywords)
    q, *_ = dynamic_quantize(x, **given)
    size = reduce_blocks(np.max, np.abs(x), keywords.block)
    largest = reduce_blocks(np.max, np.abs(q.value), keywords.block)
    counts = size / divisor(keywords.format.name) >= TINY
    wrong = counts & (largest < keywords.format.max)
    assert_true(not np.any(wrong), f"{int(np.sum(wrong))} of {size.size} blocks have no largest number of the format")


@invariant("E", source=MX, cost=2)
def test_power_of_two_of_each_size(dynamic_quantize: Operation, draw: Draw) -> None:
    """Every power of two as scale, at its last number and its first: sizes of qmax times powers of two, powers of two, and the
    numbers of x's dtype beside both.
    """
    keywords = symmetric_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e8m0fnu",), floor=False)
    if keywords.scale_dtype != "float8_e8m0fnu":
        raise NotImplementedVariant("its domain has no scales in float8_e8m0fnu")
    f, x_format = keywords.format, draw.format
    powers = 2.0 ** np.arange(max(x_format.emin, -126) + f.precision, x_format.emax + 1.0)
    points = np.concatenate([powers, powers * f.max / 2.0**f.emax, powers * (2 - f.u)])  # rounded half up, the last is the next
    beside = [points * (1 + side * 2.0 ** (1 - x_format.precision)) for side in (-1, 0, 1)]
    sizes = x_format.round(draw.rng.permutation(np.concatenate(beside)))
    sizes = sizes[(sizes < x_format.max) & (sizes >= TINY * f.max)]
    rows = [block for block in draw.operation.domain.get("block", BLOCKS) if block[0] == 1]
    keywords.given.update(choose(draw, "block", *rows) if rows else {})
    per_entry = dynamic_quantize.backend.carrier(f).per_entry
    x = np.repeat(sizes[:, None], per_entry, axis=1) * draw.one_of((1.0, -1.0))
    within_domain(draw, M=len(sizes), K=per_entry)
    largest = reduce_blocks(np.max, np.abs(x), keywords.block)
    accepts = dynamic_quantize.accepts("scale_rounding")
    for rule in draw.operation.domain.get("scale_rounding", RULES if accepts else RULES[:1]):
        _, scale, _ = call(dynamic_quantize, x, {**keywords.given, **({"scale_rounding": rule} if accepts else {})})
        s, step = scale.value, scale.value * 2.0**f.emax
        if rule == "rceil":
            fits = (largest <= f.max * s) & (largest > f.max * s / 2)
        else:
            limit = 1.0 if rule == "floor" else 1 - f.u / 2  # half up
            fits = (largest >= step * limit) & (largest < 2 * step * limit)
        assert_true(bool(np.all(fits)), f"{int(np.sum(~fits))} of {fits.size} scales are not those of {rule}")


@invariant("E", source=MX)
def test_powers_of_two_cancel(dynamic_quantize: Operation, draw: Draw) -> None:
    """2ᵏ x has the same numbers, and 2ᵏ times the scales."""
    keywords = symmetric_keywords(draw, floor=False)
    (x,), given = draw_inputs(draw, keywords, exact=True)
    given = {name: value for name, value in given.items() if name != "global_scale"}
    k = draw.one_of((-2, -1, 1, 2))
    size, f = np.abs(x), draw.format
    x = np.where((size * 2.0**k <= f.max) & (np.minimum(size, size * 2.0**k) >= max(f.tiny, TINY)), x, 0.0)
    (q, scale, _), (other, scaled, _) = (call(dynamic_quantize, y, given) for y in (x, x * 2.0**k))
    low, end = (2.0**-6, 448.0) if keywords.scale_dtype == "float8_e4m3fn" else (2.0**-100, 2.0**100)
    kept = np.all([(s >= low) & (s < end) for s in (scale.value, scale.value * 2.0**k)], axis=0)  # a larger one is stored as 448
    kept &= reduce_blocks(np.max, np.abs(x), keywords.block) > 0
    assert_identical(np.where(kept, scaled.value, 0.0), np.where(kept, scale.value * 2.0**k, 0.0))
    there = spread(kept, keywords.block, x.shape)
    assert_identical(np.where(there, other.value, 0.0), np.where(there, q.value, 0.0))


@invariant("E", source=MX)
def test_odd(dynamic_quantize: Operation, draw: Draw) -> None:
    """−x has the opposite numbers, and the same scales."""
    keywords = symmetric_keywords(draw)
    if keywords.format.is_integer and holds_value(dynamic_quantize, "integer_divisor", "127.5"):
        raise NotImplementedVariant("divided by 127.5, the smallest integer has no opposite")
    (x,), given = draw_inputs(draw, keywords)
    (q, scale, _), (other, same, _) = (call(dynamic_quantize, y, given) for y in (x, -x))
    assert_identical(same, scale)
    lost = spread(scale.value < TINY, keywords.block, x.shape)
    assert_identical(np.where(lost, 0.0, other.value), np.where(lost, 0.0, -q.value))


@invariant("E", source=MX)
def test_monotone(dynamic_quantize: Operation, draw: Draw) -> None:
    """Within a block, a larger element has no smaller number."""
    keywords = draw_keywords(draw)
    (x,), given = draw_inputs(draw, keywords)
    q, scale, _ = call(dynamic_quantize, x, given)
    found, falls, lost = np.asarray(q.value), 0, spread(scale.value < TINY, keywords.block, x.shape)
    matrices = zip(*(y.reshape(-1, *x.shape[-2:]) for y in (x, np.where(lost, 0.0, found))), strict=True)
    sizes = [max(n, 1) if size is None else size for n, size in zip(x.shape[-2:], keywords.block, strict=True)]
    index = (np.arange(x.shape[-2]) // sizes[0])[:, None] * x.shape[-1] + np.arange(x.shape[-1]) // sizes[1]
    for values, numbers in matrices:
        order = np.lexsort((numbers.ravel(), values.ravel(), index.ravel()))
        inside = np.diff(index.ravel()[order]) == 0
        falls += int(np.sum(inside & (np.diff(numbers.ravel()[order]) < 0)))
    assert_true(falls == 0, f"{falls} of {x.size} larger elements have a smaller number")


@invariant("E")
def test_permuted_in_a_block(dynamic_quantize: Operation, draw: Draw) -> None:
    """Permuting the elements of each block permutes its numbers and leaves its scale."""
    keywords = draw_keywords(draw)
    (x,), given = draw_inputs(draw, keywords, exact=True)
    rows, columns = (permute_in_blocks(draw, n, size) for n, size in zip(x.shape[-2:], keywords.block, strict=True))
    q, *before = dynamic_quantize(x, **given)
    moved, *after = dynamic_quantize(np.ascontiguousarray(x[..., rows, :][..., columns]), **given)
    for one, other in zip(after, before, strict=True):
        assert_identical(one, other)
    assert_identical(moved.value, q.value[..., rows[:, None], columns])


@invariant("E")
def test_blocks_are_independent(dynamic_quantize: Operation, draw: Draw) -> None:
    """Other numbers in one block change no other block."""
    keywords = draw_keywords(draw)
    (x,), given = draw_inputs(draw, keywords)
    of_blocks = np.zeros(shape_of_scales(x.shape, keywords.block), dtype=bool)
    of_blocks[choose_block(draw, of_blocks.shape, x.size)] = True
    here = spread(of_blocks, keywords.block, x.shape)
    other = np.where(here, draw.format.round(np.clip(-3 * x - 1, -draw.format.max, draw.format.max)), x)
    pairs = zip(dynamic_quantize(other, **given), dynamic_quantize(x, **given), strict=True)
    for i, (after, before) in enumerate(pairs):
        kept = ~(of_blocks if i else here)
        assert_identical(np.where(kept, after.value, 0.0), np.where(kept, before.value, 0.0))


@invariant("E")
def test_block_by_block(dynamic_quantize: Operation, draw: Draw) -> None:
    """The blocks quantized one by one give what they give together, the shorter last ones too."""
    keywords = draw_keywords(draw)
    (x,), given = draw_inputs(draw, keywords)
    q, *others = dynamic_quantize(x, **given)
    r, c = (draw.one_of((0, n - 1)) for n in shape_of_scales(x.shape, keywords.block)[-2:])
    part, (rows, columns) = take_block(draw, keywords.format, x, keywords.block, (r, c))
    alone, *of_block = dynamic_quantize(part, **given)
    for one, whole in zip(of_block, others, strict=True):
        assert_identical(one, whole.value[..., r : r + 1, c : c + 1])
    assert_identical(alone, q.value[..., rows, columns])


@invariant("E", source="vLLM 58032")
def test_zero_blocks(dynamic_quantize: Operation, draw: Draw) -> None:
    """Blocks of zeros have one scale, finite and not negative, in every neighbourhood, and numbers that stand for 0."""
    keywords = draw_keywords(draw)
    (x,), given = draw_inputs(draw, keywords)
    of_blocks = draw.rng.random(shape_of_scales(x.shape, keywords.block)) < 0.5
    x = np.where(spread(of_blocks, keywords.block, x.shape), draw.rng.choice((0.0, -0.0), x.shape), x)
    zeros = np.zeros(draw_sides(draw, keywords.format, keywords.block))
    (q, scale, zero_point), (_, alone, _) = (call(dynamic_quantize, y, given) for y in (x, zeros))
    found = np.concatenate([scale.value[of_blocks], alone.value.ravel()])
    assert_true(bool(np.all(np.isfinite(found) & (found >= 0))), "a block of zeros has a scale that is negative or not finite")
    assert_true(
        len(set(found.tolist())) <= 1, f"blocks of zeros have {len(set(found.tolist()))} scales", of=sorted(set(found))[:3]
    )
    difference = q.value if zero_point is None else q.value - spread(zero_point.value, keywords.block, x.shape)
    assert_identical(np.where(x == 0, difference, 0.0), np.zeros(x.shape))


@invariant("F", source="lmdeploy 3652; Model-Optimizer 381")
def test_small_blocks(dynamic_quantize: Operation, draw: Draw) -> None:
    """However small the numbers of a block are, its scale and its numbers are finite."""
    allowed = draw.operation.domain.get("dtype", ELEMENT_FORMATS)
    for name in [name for name in ("float8_e4m3fn", "float8_e5m2", draw.one_of(ELEMENT_FORMATS)) if name in allowed]:
        keywords = draw_keywords(draw, name)
        shape = draw_sides(draw, keywords.format, keywords.block)
        ends = (-24, -14) if draw.operation.dtype == "float16" else (-149, draw.one_of((-140, -110)))
        size = draw_powers(draw, shape_of_scales(shape, keywords.block), *ends)
        x = draw.format.round(draw.rng.uniform(-1, 1, shape) * spread(size, keywords.block, shape))
        for result in dynamic_quantize(x, **keywords.given):
            assert_finite(exactly(result.value))


@invariant("E", needs=("keyword:global_scale",), source="NVIDIA 2025, NVFP4")
def test_two_levels(dynamic_quantize: Operation, draw: Draw) -> None:
    """With the global scale max |x| / (448 · qmax), the block that has the largest number has the scale 448, and there the
    largest number of the format.
    """
    keywords = symmetric_keywords(draw, *FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    if keywords.scale_dtype != "float8_e4m3fn":
        raise NotImplementedVariant("its domain has no scales in float8_e4m3fn")
    f = keywords.format
    shape = draw_sides(draw, f, keywords.block)
    x = draw.format.round(draw.rng.standard_normal(shape) * 2.0 ** draw.rng.integers(-3, 3))
    x.flat[draw.integer(0, x.size - 1)] = draw.format.round(np.asarray(draw.rng.uniform(8, 12)) * draw.one_of((1.0, -1.0)))
    largest = np.max(np.abs(x))
    is_divisor = holds_value(dynamic_quantize, "global_scale", "divisor")
    g = np.asarray(np.float32(448 * f.max / largest if is_divisor else largest / (448 * f.max)), dtype=np.float64)
    q, scale, _ = call(dynamic_quantize, x, {**keywords.given, "global_scale": g})
    there = np.abs(x) == largest
    assert_identical(np.where(there, np.abs(q.value), f.max), np.full(shape, f.max))
    assert_identical(np.where(there, spread(scale.value, keywords.block, shape), 448.0), np.full(shape, 448.0))


# --- conventions ----------------------------------------------------------------------------------------------------


@invariant("E", source="OCP MX 1.0, section 5.3.3")
def test_fp4_ties(dynamic_quantize: Operation, draw: Draw) -> None:
    """float4_e2m1fn rounds every midpoint in one way: to the even code, away from zero, or toward it."""
    assert_convention(dynamic_quantize, draw, "fp4_ties")


@invariant("E", needs=("keyword:global_scale",))
def test_global_scale(dynamic_quantize: Operation, draw: Draw) -> None:
    """The global scale multiplies the scales in every call, or divides them in every call."""
    assert_convention(dynamic_quantize, draw, "global_scale")


@invariant("E")
def test_integer_divisor(dynamic_quantize: Operation, draw: Draw) -> None:
    """The largest number of a block is divided by 127 in every call, or by 127.5 in every call; of int4 by 7, or 7.5."""
    assert_convention(dynamic_quantize, draw, "integer_divisor")


@invariant("E")
def test_small_fp8_scale(dynamic_quantize: Operation, draw: Draw) -> None:
    """Scales in float8_e4m3fn below 2⁻⁶ are rounded as any other, or become 2⁻⁶."""
    assert_convention(dynamic_quantize, draw, "small_fp8_scale")


@invariant("E", needs=("keyword:eps",))
def test_floored(dynamic_quantize: Operation, draw: Draw) -> None:
    """eps is the least size of a block in every call, or the least scale in every call."""
    assert_convention(dynamic_quantize, draw, "floored")


# --- levels ---------------------------------------------------------------------------------------------------------


@invariant("E", level="nan-propagation", source=MX)
def test_nan_stays_in_its_block(dynamic_quantize: Operation, draw: Draw) -> None:
    """A NaN stands for NaN afterwards; the whole block does where the format has none. Other blocks are as they were."""
    keywords = symmetric_keywords(draw)
    (x,), given = draw_inputs(draw, keywords)
    if x.size == 0:
        raise NotImplementedVariant("an empty batch has no element", "suite")
    place = tuple(draw.integer(0, n - 1) for n in x.shape)
    with_nan = x.copy()
    with_nan[place] = np.nan
    of_blocks = reduce_blocks(np.max, np.isnan(with_nan).astype(float), keywords.block) > 0
    here = spread(of_blocks, keywords.block, x.shape)
    (q, scale, _), (before, own, _) = (call(dynamic_quantize, y, given) for y in (with_nan, x))
    assert_identical(np.where(here, 0.0, q.value), np.where(here, 0.0, before.value))
    assert_identical(np.where(of_blocks, 0.0, scale.value), np.where(of_blocks, 0.0, own.value))
    is_nan = np.isnan(q.value) | np.isnan(spread(scale.value, keywords.block, x.shape))
    demanded = here if keywords.format.nan is None else np.isnan(with_nan)
    assert_true(bool(np.all(is_nan[demanded])), "a NaN became a number")


@invariant("E", level="signed-zero", source=MX)
def test_signed_zero(dynamic_quantize: Operation, draw: Draw) -> None:
    """−0, and a negative number that rounds to 0, give −0 in a format that has one."""
    keywords = symmetric_keywords(draw, *(name for name in FLOATING_ELEMENTS if not name.endswith("uz")), floor=False)
    f = keywords.format
    shape = draw_sides(draw, f, keywords.block)
    x = np.resize(np.array([-0.0, 0.0, -0.25, 0.25]) * f.quantum, shape)
    x[place_ends(shape, keywords.block)[1]] = f.max
    q, *_ = dynamic_quantize(draw.format.round(x), **keywords.given)
    assert_identical(np.copysign(1.0, q.value), np.copysign(1.0, x))
