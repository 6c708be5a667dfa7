"""What must hold of log_softmax."""

from types import MappingProxyType
from typing import Any

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.rows import draw_row_and_exact_offset, draw_row_shape
from .helpers.softmax_rows import (
    draw_logit_rows,
    draw_no_entries,
    draw_rows_and_hidden_entries,
    draw_rows_padded_with_minus_infinity,
    vanishing_gap,
)
from .inputs.draw import Draw
from .inputs.regimes import LOGITS
from .trials.invariant import invariant

EQUATION = "the logarithm of CS336 assignment 1, eq. (10)"
UNDERFLOWING_REGIMES = MappingProxyType({name: LOGITS[name] for name in ("spread", "shifted", "peaked")})


@invariant("B", source=EQUATION)
def test_shift(log_softmax: Operation, draw: Draw) -> None:
    """log_softmax(x + c) = log_softmax(x), for c up to a quarter of the dtype's largest number, of either sign."""
    x, c = draw_row_and_exact_offset(draw, draw_row_shape(draw, n=300), (3, 7, 11, 14, draw.format.emax - 1))
    assert_equal(log_softmax(x + c, axis=-1), log_softmax(x, axis=-1))


@invariant("B", source=EQUATION)
def test_exponential(log_softmax: Operation, softmax: Operation, draw: Draw) -> None:
    """exp(log_softmax(x)) = softmax(x)."""
    x = draw_logit_rows(draw)
    assert_equal(np.exp(log_softmax(x, axis=-1)), softmax(x, axis=-1))


@invariant("B", source=EQUATION)
def test_sums_to_one(log_softmax: Operation, draw: Draw) -> None:
    """The exponentials of each row sum to one: Σ exp(y) = 1, over short rows and long ones."""
    y = log_softmax(draw_logit_rows(draw, 5000), axis=-1)
    assert_equal(np.sum(np.exp(y), axis=-1), 1.0)


@invariant("B", source=EQUATION)
def test_minus_logsumexp(log_softmax: Operation, logsumexp: Operation, draw: Draw) -> None:
    """log_softmax(x) = x − logsumexp(x)."""
    x = draw_logit_rows(draw)
    assert_equal(log_softmax(x, axis=-1), exactly(x) - logsumexp(x, axis=-1)[..., None])


@invariant("B", source=EQUATION)
def test_differences(log_softmax: Operation, draw: Draw) -> None:
    """Differences are kept: yᵢ = yⱼ + (xᵢ − xⱼ), where xⱼ is the largest, also where softmax underflows to 0."""
    x = draw_logit_rows(draw)
    y: Any = log_softmax(x, axis=-1)
    top = np.argmax(x, axis=-1, keepdims=True)
    assert_equal(y, np.take_along_axis(y, top, axis=-1) + (exactly(x) - np.take_along_axis(x, top, axis=-1)))


@invariant("B", source=EQUATION)
def test_order(log_softmax: Operation, draw: Draw) -> None:
    """The order is kept, and nothing exceeds 0: xᵢ ≥ xⱼ implies 0 ≥ yᵢ ≥ yⱼ, up to the rounding of each."""
    x = draw_logit_rows(draw)
    y: Any = log_softmax(x, axis=-1)
    y = np.take_along_axis(y, np.argsort(x, axis=-1), axis=-1)
    assert_within(y[..., 1:], y[..., :-1], np.inf)
    assert_within(y, -np.inf, 0.0)


@invariant("B", source=EQUATION)
def test_permutation(log_softmax: Operation, draw: Draw) -> None:
    """Permuting the entries of x permutes the result."""
    x = draw_logit_rows(draw)
    order = draw.rng.permutation(x.shape[-1])
    assert_equal(log_softmax(x[..., order], axis=-1), log_softmax(x, axis=-1)[..., order])


@invariant("B", source=EQUATION)
def test_equal_entries(log_softmax: Operation, draw: Draw) -> None:
    """n equal entries give −ln n each, whatever their size: 0 where n = 1."""
    size = draw_row_shape(draw, n=5000)
    x = np.broadcast_to(draw.array((*size[:-1], 1), LOGITS), size)
    finite = np.where(np.isfinite(x), x, -1.0)
    assert_equal(log_softmax(finite, axis=-1), -np.log(exactly(np.full(size, float(size[-1])))))


@invariant("F", source=EQUATION)
def test_finite_where_softmax_underflows(log_softmax: Operation, draw: Draw) -> None:
    """The result is finite where softmax itself underflows to 0, and where exp(x) alone would overflow."""
    assert_finite(log_softmax(draw.array(draw_row_shape(draw, n=300), UNDERFLOWING_REGIMES), axis=-1))


@invariant("F", source=EQUATION)
def test_no_overflow(log_softmax: Operation, draw: Draw) -> None:
    """The result is finite for every finite x whose spread the dtype holds, up to its largest number, of either sign."""
    x = draw.array(size := draw_row_shape(draw, n=300), {"extreme": LOGITS["extreme"]})
    assert_finite(log_softmax(np.abs(x) * draw.rng.choice((1.0, -1.0), (*size[:-1], 1)), axis=-1))


@invariant("E", source=EQUATION)
def test_minus_infinity(log_softmax: Operation, draw: Draw) -> None:
    """An entry of −∞ gives exactly −∞, and leaves the others as any entry does whose exponential vanishes."""
    x, hidden = draw_rows_and_hidden_entries(draw)
    y = log_softmax(np.where(hidden, -np.inf, x), axis=-1)
    assert_identical(y.value[hidden], np.full(np.sum(hidden), -np.inf))
    assert_unmoved(log_softmax(np.where(hidden, -vanishing_gap(draw), x), axis=-1), y, ~hidden)


@invariant("B", source=EQUATION)
def test_minus_infinity_is_absence(log_softmax: Operation, draw: Draw) -> None:
    """Entries of −∞ do not change the others: they are what they are in the row without them."""
    x, padded, places = draw_rows_padded_with_minus_infinity(draw)
    assert_equal(log_softmax(padded, axis=-1)[..., places], log_softmax(x, axis=-1))


@invariant("B", needs=("keyword:axis",))
def test_axis(log_softmax: Operation, draw: Draw) -> None:
    """log_softmax over `axis` is log_softmax over the last axis of the moved array, for every axis, negative ones too."""
    n, *batch = draw.dims(n=257, rows=33, columns=33)
    x = draw.logits((*batch[: draw.shape.integer(0, 2)], n))
    (axis,) = draw.keyword("axis", (*range(x.ndim), *range(-x.ndim, 0))).values()
    y: Any = log_softmax(x, axis=-1)
    assert_equal(log_softmax(np.moveaxis(x, -1, axis), axis=axis), np.moveaxis(y, -1, axis))


@invariant("E", level="no-entries")
def test_no_entries(log_softmax: Operation, draw: Draw) -> None:
    """An axis without entries gives an empty result of the same shape."""
    x, axis = draw_no_entries(draw)
    assert_identical(log_softmax(x, **axis), x)
