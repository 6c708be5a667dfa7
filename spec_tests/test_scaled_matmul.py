"""What must hold of scaled_matmul."""

from typing import Any

import numpy as np

from reference_numpy._narrow import spread
from reference_numpy.scaled_matmul import WIDE

from .calls.operation import Operation
from .calls.violation import NotImplementedVariant
from .helpers.assertions import assert_equal, assert_identical, assert_unmoved
from .helpers.conventions import assert_convention, holds_value
from .inputs.draw import Draw, within_domain
from .operations._narrow import draw_powers, shape_of_scales
from .operations.dequantize import take
from .operations.scaled_matmul import INTEGERS, Product, Side, draw_inputs, draw_lengths, draw_product
from .specification.narrow_formats import FLOATING_ELEMENTS, NARROW_FORMATS
from .trials.invariant import invariant

FP8 = "Micikevicius et al. 2022, arXiv:2209.05433, section 3"
MX = "Rouhani et al. 2023, arXiv:2310.10537, section 5"
GPTQ = "Frantar et al. 2022, arXiv:2210.17323"
SMALL = 2  # the largest code of the law on exact integers
NARROW = (*FLOATING_ELEMENTS, *INTEGERS)


def draw_few_blocks(draw: Draw, product: Product) -> tuple[int, int, int]:
    """Draw M, N and K such that each operand has a few blocks, the last of them mostly shorter, where blocks are not large."""
    sizes = [
        [s.block[axis] for s in sides if s.block] for sides, axis in (((product.a,), 0), ((product.b,), 0), (product.sides, 1))
    ]
    lengths = []
    for of_axis, most in zip(sizes, (24, 24, 300), strict=True):
        size = max([size for size in of_axis if size is not None and size <= most // 2], default=4)
        lengths.append(min(size + draw.integer(1, size), most))
    m, n, k = lengths
    carriers = [draw.operation.backend.carrier(s.format) for s in product.sides if s.format]
    per_entry = int(np.lcm.reduce([carrier.per_entry for carrier in carriers]))
    k = -(-k // per_entry) * per_entry
    within_domain(draw, M=m, N=n, K=k)
    return m, n, k


def blocks_at(side: Side, scale: Any, shape: tuple[int, ...], at: tuple[int, int]) -> np.ndarray:
    """Return which elements of an operand lie in one of its blocks, in every matrix of the batch."""
    here = np.zeros(scale.shape[-2:])
    here[at] = 1.0
    return np.asarray(spread(here, side.block, shape[-2:]) == 1)


@invariant("E", source=MX)
def test_one_block_at_a_time(scaled_matmul: Operation, draw: Draw) -> None:
    """Where an operand is zero outside of one block, its other scales do not show, nor those of the other operand's blocks
    that this block does not touch.
    """
    product = draw_product(draw, a=NARROW)
    (a, b), given = draw_inputs(draw, product, lengths=draw_few_blocks(draw, product))
    given = {name: x for name, x in given.items() if not name.startswith("zero_point")}
    if a.size == 0:
        raise NotImplementedVariant("an empty batch has no block", "suite")
    arrays, (first, other) = {"a": a, "b": b}, draw.one_of((product.sides, product.sides[::-1]))
    scale = given[f"scale_{first.name}"]
    at = (draw.integer(0, scale.shape[-2] - 1), draw.integer(0, scale.shape[-1] - 1))
    inside = blocks_at(first, scale, arrays[first.name].shape, at)
    arrays[first.name] = np.where(inside, arrays[first.name], 0.0)
    touched = np.any(inside, axis=0)  # along K
    here = np.zeros(scale.shape[-2:], dtype=bool)
    here[at] = True
    changed = {f"scale_{first.name}": np.where(here, scale, scale * 2)}
    of_other = given[f"scale_{other.name}"]
    columns = spread(np.arange(of_other.shape[-1])[None], (None, other.block[1]), (1, touched.size))[0]
    is_touched = np.isin(np.arange(of_other.shape[-1]), columns[touched])
    changed[f"scale_{other.name}"] = np.where(is_touched, of_other, of_other * 2)
    before = scaled_matmul(arrays["a"], arrays["b"], **given)
    assert_equal(scaled_matmul(arrays["a"], arrays["b"], **{**given, **changed}), before)


@invariant("E", source=FP8, cost=2)
def test_exact_integers(scaled_matmul: Operation, draw: Draw) -> None:
    """Small integers times powers of two have sums that float32 holds: the result is the rounded sum, bit for bit."""
    product = draw_product(draw)
    (a, b), given = draw_inputs(draw, product, exact=True)
    given = {name: x for name, x in given.items() if not name.startswith(("zero_point", "global", "bias"))}
    arrays = {}
    for side, x in zip(product.sides, (a, b), strict=True):
        low = 0 if side.format and not side.format.is_signed else -SMALL
        arrays[side.name] = draw.rng.integers(low, SMALL + 1, x.shape).astype(float)
        if side.block:
            given[f"scale_{side.name}"] = draw_powers(draw, given[f"scale_{side.name}"].shape, -3, 0)
    y = scaled_matmul(arrays["a"], arrays["b"], **given)
    assert_identical(y, draw.format.round(y.call.value))


@invariant("B", source=GPTQ, cost=2)
def test_is_linear_of_the_dequantized_weight(
    scaled_matmul: Operation, dequantize: Operation, linear: Operation, draw: Draw
) -> None:
    """A wide operand times integers in few bits is the backend's own linear with the weight that its own dequantize gives. Scales
    are powers of two, so that the dtype holds this weight.
    """
    product = draw_product(draw, a=(draw.operation.dtype,), b=INTEGERS)
    (a, b), given = draw_inputs(draw, product, exact=True)
    scale, zero_point = given["scale_b"], given.get("zero_point_b", 0) if product.b.dtype != "uint4" else 0
    given = {name: x for name, x in given.items() if not name.startswith(("bias", "zero_point", "global"))}
    shift = {} if np.ndim(zero_point) == 0 else {"zero_point": zero_point}
    zeros = np.broadcast_to(spread(np.zeros(scale.shape) + zero_point, product.b.block, b.shape), b.shape)
    exact = (b - zeros) * spread(scale, product.b.block, b.shape)
    b = np.where(draw.format.round(exact) == exact, b, zeros)
    dtype = {"dtype": draw.operation.dtype} if dequantize.accepts("dtype") else {}
    weight = dequantize(b, scale, q_dtype=product.b.dtype, block=product.b.block, **shift, **dtype)
    y = scaled_matmul(a, b, **given, **{f"{name}_b": x for name, x in shift.items()})
    assert_equal(y, linear(a, weight.value))


@invariant("E", source=MX)
def test_powers_of_two(scaled_matmul: Operation, draw: Draw) -> None:
    """A scale of one operand that is 2ᵏ times as large gives results 2ᵏ times as large, bit for bit."""
    product = draw_product(draw, scales=("float32", "float8_e8m0fnu"))
    (a, b), given = draw_inputs(draw, product)
    given.pop("bias", None)
    name = draw.one_of([f"scale_{side.name}" for side in product.sides if side.block])
    k = draw.one_of((-2, -1, 1, 2))
    before, after = (scaled_matmul(a, b, **{**given, name: given[name] * factor}) for factor in (1.0, 2.0**k))
    size = np.minimum(np.abs(before.value), np.abs(before.value) * 2.0**k)
    kept = (size >= draw.format.tiny) & (np.abs(before.value) * max(2.0**k, 1) <= draw.format.max)  # others may lose bits
    if product.a.dtype == "float16" and name == "scale_b":
        kept = np.zeros_like(kept)  # weights in float16 may be subnormal
    assert_identical(np.where(kept, after.value, 0.0), np.where(kept, before.value * 2.0**k, 0.0))


@invariant("B", source=FP8)
def test_exchanged(scaled_matmul: Operation, draw: Draw) -> None:
    """Exchanging both operands, with all that belongs to them, transposes the result."""
    product = draw_product(draw, a=NARROW)
    (a, b), given = draw_inputs(draw, product)
    given.pop("bias", None)
    if a.ndim != 2:
        a, given = np.reshape(a, (-1, *a.shape[-2:])), dict(given)
        if len(a) == 0:
            raise NotImplementedVariant("an empty batch has no matrix", "suite")
        a = a[0]
        for name in ("scale_a", "zero_point_a"):
            if name in given:
                given[name] = np.reshape(given[name], (-1, *given[name].shape[-2:]))[0]
    other = {name: x for name, x in given.items() if name == "dtype"}
    other |= {_exchange(name): x for name, x in given.items() if name != "dtype"}
    transposed = np.swapaxes(scaled_matmul(a, b, **given), -1, -2)  # type: ignore[call-overload]
    assert_equal(scaled_matmul(b, a, **other), transposed)


def _exchange(name: str) -> str:
    """Return the name of the same keyword of the other operand."""
    if name.startswith(("a_", "b_")):
        return {"a": "b", "b": "a"}[name[0]] + name[1:]
    return name[:-1] + {"a": "b", "b": "a"}[name[-1]]


@invariant("E", needs=("keyword:bias",))
def test_bias_is_added_once(scaled_matmul: Operation, draw: Draw) -> None:
    """Where a is zero, the result is the bias: no scale multiplies it, and it is added once, not for each block of K."""
    product = draw_product(draw)
    (a, b), given = draw_inputs(draw, product)
    given = {name: x for name, x in given.items() if not name.startswith("zero_point_a")}
    bias = draw.format.round(draw.rng.normal(0, 2, b.shape[0]))
    y = scaled_matmul(np.zeros(a.shape), b, **{**given, "bias": bias})
    assert_identical(y, np.broadcast_to(bias, y.value.shape))


@invariant("E", needs=("keyword:zero_point_b",), source=GPTQ)
def test_zero_point_is_zero(scaled_matmul: Operation, draw: Draw) -> None:
    """Where every number of b is the one that its zero point stands for, the product is 0."""
    product = draw_product(draw, b=INTEGERS)
    (a, b), given = draw_inputs(draw, product, exact=True)
    given = {name: x for name, x in given.items() if name not in ("bias", "zero_point_a", "zero_point_b")}
    f, shape = product.b.format, given["scale_b"].shape
    assert f
    low = int(f.least)
    stored = draw.rng.integers(low, low + 15, shape)  # uint4's stays below 15
    zero = stored + (f.name == "uint4" and holds_value(scaled_matmul, "stored_zero_point", "minus one"))
    whole = np.broadcast_to(spread(zero, product.b.block, b.shape), b.shape).astype(float)
    y = scaled_matmul(draw_few(draw, product, a), whole, **{**given, **draw_ones(given), "zero_point_b": stored})
    assert_identical(y, np.zeros(y.value.shape))


def draw_few(draw: Draw, product: Product, a: Any) -> np.ndarray:
    """Draw small integers for a, whose sums are exact, also where code subtracts the zero points from whole sums."""
    low = 0 if product.a.format and not product.a.format.is_signed else -1
    return np.asarray(draw.rng.integers(low, 2, a.shape), dtype=float)


def draw_ones(given: dict[str, Any]) -> dict[str, Any]:
    """Return scales of 1 in place of all that are given."""
    return {name: np.ones(x.shape) for name, x in given.items() if name in ("scale_a", "scale_b")}


@invariant("B", needs=("keyword:zero_point_b",), source=GPTQ)
def test_shifted_together(scaled_matmul: Operation, draw: Draw) -> None:
    """An operand and its zero points shifted by the same number change nothing."""
    product = draw_product(draw, b=INTEGERS)
    (a, b), given = draw_inputs(draw, product)
    given.pop("zero_point_b", None)
    f = product.b.format
    assert f
    low, half = int(f.least), (int(f.max) - int(f.least)) // 2
    b = np.where(b > low + half, b - half - 1, b)
    z, k = draw.rng.integers(low, low + half, given["scale_b"].shape), draw.integer(1, half)
    before = scaled_matmul(a, b, **{**given, "zero_point_b": z})
    assert_equal(scaled_matmul(a, b + k, **{**given, "zero_point_b": z + k}), before)


@invariant("E", needs=("keyword:global_scale_b",), source="compressed-tensors, NVFP4")
def test_two_levels(scaled_matmul: Operation, draw: Draw) -> None:
    """A global scale that is a power of two multiplies every product by it, or divides every product, and leaves the bias."""
    take(draw, "global_scale_b")
    product = draw_product(draw, b=FLOATING_ELEMENTS, scales=("float8_e4m3fn",))
    (a, b), given = draw_inputs(draw, product, exact=True)
    given = {name: x for name, x in given.items() if name not in ("bias", "global_scale_a")}
    g = 2.0 ** draw.one_of((-3, -1, 1, 2))
    alone, both = (scaled_matmul(a, b, **{**given, "global_scale_b": np.asarray(x)}) for x in (1.0, g))
    factor = 1 / g if holds_value(scaled_matmul, "global_scale", "divisor") else g
    size = np.abs(alone.value) * min(factor, 1.0)
    kept = (size >= draw.format.tiny) & (np.abs(alone.value) * max(factor, 1.0) <= draw.format.max)
    assert_identical(np.where(kept, both.value, 0.0), np.where(kept, alone.value * factor, 0.0))


@invariant("B")
def test_rows_are_independent(scaled_matmul: Operation, draw: Draw) -> None:
    """Zeros in all other rows of a, and in all other rows of b, leave an element of the result as it is."""
    product = draw_product(draw)
    (a, b), given = draw_inputs(draw, product)
    if a.size == 0:
        raise NotImplementedVariant("an empty batch has no row", "suite")
    rows, columns = (np.arange(n) == draw.integer(0, n - 1) for n in (a.shape[-2], b.shape[0]))
    there = np.broadcast_to(rows[:, None] & columns, (*a.shape[:-1], b.shape[0]))
    cleared = scaled_matmul(np.where(rows[:, None], a, 0.0), np.where(columns[:, None], b, 0.0), **given)
    assert_unmoved(cleared, scaled_matmul(a, b, **given), there)


# --- conventions ----------------------------------------------------------------------------------------------------


@invariant("E", needs=("keyword:global_scale_b",))
def test_global_scale(scaled_matmul: Operation, draw: Draw) -> None:
    """Global scales multiply the scales in every call, or divide them in every call."""
    assert_convention(scaled_matmul, draw, "global_scale")


@invariant("E", needs=("keyword:zero_point_b",))
def test_stored_zero_point(scaled_matmul: Operation, draw: Draw) -> None:
    """A zero point of uint4 is stored as it is in every call, or less one in every call."""
    assert_convention(scaled_matmul, draw, "stored_zero_point")


# --- levels ---------------------------------------------------------------------------------------------------------


@invariant("E", level="nan-propagation", source=MX)
def test_nan_codes(scaled_matmul: Operation, draw: Draw) -> None:
    """A code of NaN in a makes its row of the result NaN, and one in b its column. No other element is."""
    product = draw_product(draw, a=WIDE + FLOATING_ELEMENTS, b=FLOATING_ELEMENTS)
    m, n, k = draw_lengths(draw, product)
    arrays = {"a": np.ones((m, k)), "b": np.ones((n, k))}
    sides = [side for side in product.sides if side.format is None or NARROW_FORMATS[side.dtype].nan is not None]
    if not sides:
        raise NotImplementedVariant("neither format has NaN", "suite")
    side = draw.one_of(sides)
    row = draw.integer(0, len(arrays[side.name]) - 1)
    arrays[side.name][row, draw.integer(0, k - 1)] = np.nan
    scales = {f"scale_{s.name}": np.ones(shape_of_scales(arrays[s.name].shape, s.block)) for s in product.sides if s.block}
    y = scaled_matmul(arrays["a"], arrays["b"], **product.given, **scales)
    expected = np.full((m, n), float(k))
    expected[(row, slice(None)) if side.name == "a" else (slice(None), row)] = np.nan
    assert_identical(y, draw.format.round(expected))
