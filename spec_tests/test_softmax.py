"""What must hold of softmax."""

from types import MappingProxyType
from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_true, assert_unmoved, assert_within, exactly
from .helpers.rows import draw_row_and_exact_offset, draw_row_shape
from .helpers.softmax_rows import (
    draw_logit_rows,
    draw_no_entries,
    draw_rows_and_hidden_entries,
    draw_rows_padded_with_minus_infinity,
    vanishing_gap,
)
from .inputs.draw import MANY_ROWS, Draw
from .inputs.regimes import LOGITS
from .trials.invariant import invariant

EQUATION = "CS336 assignment 1, eq. (10)"
WIDE_REGIMES = MappingProxyType({name: LOGITS[name] for name in ("extreme", "shifted", "spread", "peaked", "minus infinity")})


@invariant("B", source=EQUATION)
def test_shift(softmax: Operation, draw: Draw) -> None:
    """softmax(x + c) = softmax(x), for c up to a quarter of the dtype's largest number, of either sign."""
    x, c = draw_row_and_exact_offset(draw, draw_row_shape(draw, n=300), (3, 7, 11, 14, draw.format.emax - 1))
    assert_equal(softmax(x + c, axis=-1), softmax(x, axis=-1))


@invariant("B", source=EQUATION)
def test_sums_to_one(softmax: Operation, draw: Draw) -> None:
    """Each row sums to one: Σ y = 1, summed in float64, over short rows and long ones."""
    y: Any = softmax(draw_logit_rows(draw, 5000), axis=-1)
    assert_equal(np.sum(y, axis=-1), 1.0)


@invariant("E", source=EQUATION)
def test_probabilities(softmax: Operation, draw: Draw) -> None:
    """0 ≤ y ≤ 1, without any rounding beyond either end."""
    y = softmax(draw_logit_rows(draw), axis=-1).value
    assert_true(bool(np.all((y >= 0) & (y <= 1))), "some entry is no probability", least=np.min(y), largest=np.max(y))


@invariant("B", source=EQUATION)
def test_permutation(softmax: Operation, draw: Draw) -> None:
    """Permuting the entries of x permutes the result."""
    x = draw_logit_rows(draw)
    order = draw.rng.permutation(x.shape[-1])
    assert_equal(softmax(x[..., order], axis=-1), softmax(x, axis=-1)[..., order])


@invariant("B", source=EQUATION)
def test_order(softmax: Operation, draw: Draw) -> None:
    """The order is kept: xᵢ ≥ xⱼ implies yᵢ ≥ yⱼ, up to the rounding of each."""
    x = draw_logit_rows(draw)
    y: Any = softmax(x, axis=-1)
    y = np.take_along_axis(y, np.argsort(x, axis=-1), axis=-1)
    assert_within(y[..., 1:], y[..., :-1], np.inf)


@invariant("B", source=EQUATION)
def test_ratio(softmax: Operation, draw: Draw) -> None:
    """Two entries are in the ratio of their exponentials: yᵢ = yⱼ exp(xᵢ − xⱼ), where xⱼ is the largest."""
    x = draw_logit_rows(draw)
    y: Any = softmax(x, axis=-1)
    top = np.argmax(x, axis=-1, keepdims=True)
    assert_equal(y, np.take_along_axis(y, top, axis=-1) * np.exp(exactly(x) - np.take_along_axis(x, top, axis=-1)))


@invariant("B", source=EQUATION)
def test_equal_entries(softmax: Operation, draw: Draw) -> None:
    """n equal entries give 1/n each, whatever their size."""
    size = draw_row_shape(draw, n=5000)
    x = np.broadcast_to(draw.array((*size[:-1], 1), LOGITS), size)
    finite = np.where(np.isfinite(x), x, -1.0)
    assert_equal(softmax(finite, axis=-1), exactly(np.ones(size)) / size[-1])


@invariant("E", source=EQUATION)
def test_one_entry(softmax: Operation, draw: Draw) -> None:
    """A row of a single entry gives exactly 1, whatever its size."""
    one = draw.size("n", (1,))
    x = draw.array((*draw.batch(MANY_ROWS), one), LOGITS)
    if one == 1:
        assert_identical(softmax(x, axis=-1), np.ones(x.shape))


@invariant("E", source=EQUATION)
def test_one_hot(softmax: Operation, draw: Draw) -> None:
    """An entry so far above the others that their exponentials vanish gives exactly 1 there and 0 elsewhere."""
    size = draw_row_shape(draw, n=300)
    x, top = draw.normal(size), draw.rng.integers(0, size[-1], (*size[:-1], 1))
    gap = draw.one_of((1, 4, 16)) * vanishing_gap(draw)
    np.put_along_axis(x, top, gap, axis=-1)
    hot = np.zeros(size)
    np.put_along_axis(hot, top, 1.0, axis=-1)
    assert_identical(softmax(draw.held(x - draw.one_of((0.0, gap, 2 * gap))), axis=-1), hot)


@invariant("F", source=EQUATION)
def test_no_overflow(softmax: Operation, draw: Draw) -> None:
    """The result is finite for every finite x, up to the dtype's largest number, of either sign or both."""
    assert_finite(softmax(draw.array(draw_row_shape(draw, n=300), WIDE_REGIMES), axis=-1))


@invariant("E", source=EQUATION)
def test_minus_infinity_is_zero(softmax: Operation, draw: Draw) -> None:
    """An entry of −∞ gives exactly 0, and leaves the others as any entry does whose exponential vanishes."""
    x, hidden = draw_rows_and_hidden_entries(draw)
    y = softmax(np.where(hidden, -np.inf, x), axis=-1)
    assert_identical(y.value[hidden], np.zeros(np.sum(hidden)))
    assert_unmoved(softmax(np.where(hidden, -vanishing_gap(draw), x), axis=-1), y)


@invariant("B", source=EQUATION)
def test_minus_infinity_is_absence(softmax: Operation, draw: Draw) -> None:
    """Entries of −∞ do not change the others: they are what they are in the row without them."""
    x, padded, places = draw_rows_padded_with_minus_infinity(draw)
    assert_equal(softmax(padded, axis=-1)[..., places], softmax(x, axis=-1))


@invariant("E", source=EQUATION)
def test_one_finite_entry(softmax: Operation, draw: Draw) -> None:
    """A row with one finite entry, whatever its size, is exactly one-hot."""
    size = draw_row_shape(draw, n=300)
    top = draw.rng.integers(0, size[-1], (*size[:-1], 1))
    finite = draw.held(draw.rng.choice((0.0, 1.0, -30.0, 300.0, -1e4, 0.9 * draw.format.max, -0.9 * draw.format.max), top.shape))
    x, hot = np.full(size, -np.inf), np.zeros(size)
    np.put_along_axis(x, top, finite, axis=-1)
    np.put_along_axis(hot, top, 1.0, axis=-1)
    assert_identical(softmax(x, axis=-1), hot)


@invariant("B", needs=("keyword:axis",))
def test_axis(softmax: Operation, draw: Draw) -> None:
    """softmax over `axis` is softmax over the last axis of the moved array, for every axis, negative ones too."""
    n, *batch = draw.dims(n=257, rows=33, columns=33)
    x = draw.logits((*batch[: draw.shape.integer(0, 2)], n))
    (axis,) = draw.keyword("axis", (*range(x.ndim), *range(-x.ndim, 0))).values()
    y: Any = softmax(x, axis=-1)
    assert_equal(softmax(np.moveaxis(x, -1, axis), axis=axis), np.moveaxis(y, -1, axis))


@invariant("E", level="no-entries")
def test_no_entries(softmax: Operation, draw: Draw) -> None:
    """An axis without entries gives an empty result of the same shape."""
    x, axis = draw_no_entries(draw)
    assert_identical(softmax(x, **axis), x)
