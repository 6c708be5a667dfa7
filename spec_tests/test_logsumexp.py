"""What must hold of logsumexp."""

from types import MappingProxyType

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
from .inputs.draw import MANY_ROWS, Draw
from .inputs.regimes import LOGITS
from .trials.invariant import invariant

EQUATION = "the denominator of CS336 assignment 1, eq. (10)"
FINITE_REGIMES = MappingProxyType({name: fill for name, fill in LOGITS.items() if name != "minus infinity"})
WIDE_REGIMES = MappingProxyType({name: LOGITS[name] for name in ("extreme", "shifted", "spread", "peaked")})


@invariant("B", source=EQUATION)
def test_shift(logsumexp: Operation, draw: Draw) -> None:
    """logsumexp(x + c) = logsumexp(x) + c, for c up to a quarter of the dtype's largest number, of either sign."""
    x, c = draw_row_and_exact_offset(draw, draw_row_shape(draw, n=300), (3, 7, 11, 14, draw.format.emax - 1))
    assert_equal(logsumexp(x + c, axis=-1), logsumexp(x, axis=-1) + c)


@invariant("B", source=EQUATION)
def test_smooth_maximum(logsumexp: Operation, draw: Draw) -> None:
    """max(x) ≤ logsumexp(x) ≤ max(x) + ln n."""
    x = draw_logit_rows(draw)
    top = exactly(np.max(x, axis=-1))
    assert_within(logsumexp(x, axis=-1), top, top + np.log(exactly(float(x.shape[-1]))))


@invariant("B", source=EQUATION)
def test_equal_entries(logsumexp: Operation, draw: Draw) -> None:
    """n equal entries c give c + ln n, whatever their size: c itself where n = 1."""
    size = draw_row_shape(draw, n=5000)
    c = draw.array((*size[:-1], 1), FINITE_REGIMES)
    assert_equal(logsumexp(np.broadcast_to(c, size), axis=-1), exactly(c[..., 0]) + np.log(exactly(float(size[-1]))))


@invariant("B", source=EQUATION)
def test_permutation(logsumexp: Operation, draw: Draw) -> None:
    """The order of the entries does not matter."""
    x = draw_logit_rows(draw)
    assert_equal(logsumexp(x[..., draw.rng.permutation(x.shape[-1])], axis=-1), logsumexp(x, axis=-1))


@invariant("B", source=EQUATION)
def test_merge(logsumexp: Operation, draw: Draw) -> None:
    """Two parts merge: logsumexp of the whole row is that of the parts' own, as in an online or a split softmax."""
    n, m = draw.dims(n=300, m=300)
    batch = draw.batch(MANY_ROWS)
    left, right = draw.array((*batch, n), FINITE_REGIMES), draw.array((*batch, m), FINITE_REGIMES)
    whole = logsumexp(np.concatenate([left, right], axis=-1), axis=-1)
    a, b = logsumexp(left, axis=-1), logsumexp(right, axis=-1)
    top = np.maximum(a.value, b.value)
    assert_equal(whole, top + np.log(np.exp(a - top) + np.exp(b - top)))


@invariant("B", source=EQUATION)
def test_normalizes(logsumexp: Operation, draw: Draw) -> None:
    """Σ exp(x − logsumexp(x)) = 1, over short rows and long ones."""
    x = draw_logit_rows(draw, 5000)
    assert_equal(np.sum(np.exp(exactly(x) - logsumexp(x, axis=-1)[..., None]), axis=-1), 1.0)


@invariant("F", source=EQUATION)
def test_no_overflow(logsumexp: Operation, draw: Draw) -> None:
    """The result is finite for every finite x whose max(x) + ln n the dtype holds, of either sign or both."""
    x = draw.array(draw_row_shape(draw, n=300), WIDE_REGIMES) / 2  # halved, for max(x) + ln n to be representable
    assert_finite(logsumexp(draw.held(x), axis=-1))


@invariant("B", source=EQUATION)
def test_minus_infinity_is_absence(logsumexp: Operation, draw: Draw) -> None:
    """Entries of −∞ do not change the result."""
    x, padded, _ = draw_rows_padded_with_minus_infinity(draw)
    assert_equal(logsumexp(padded, axis=-1), logsumexp(x, axis=-1))


@invariant("B", source=EQUATION)
def test_minus_infinity_is_a_vanishing_entry(logsumexp: Operation, draw: Draw) -> None:
    """An entry of −∞ gives what any entry gives whose exponential vanishes."""
    x, hidden = draw_rows_and_hidden_entries(draw)
    y = logsumexp(np.where(hidden, -np.inf, x), axis=-1)
    assert_unmoved(logsumexp(np.where(hidden, -vanishing_gap(draw), x), axis=-1), y)


@invariant("B", needs=("keyword:axis",))
def test_axis(logsumexp: Operation, draw: Draw) -> None:
    """logsumexp over `axis` is logsumexp over the last axis of the moved array, for every axis, negative ones too."""
    n, *batch = draw.dims(n=257, rows=33, columns=33)
    x = draw.logits((*batch[: draw.shape.integer(0, 2)], n))
    (axis,) = draw.keyword("axis", (*range(x.ndim), *range(-x.ndim, 0))).values()
    assert_equal(logsumexp(np.moveaxis(x, -1, axis), axis=axis), logsumexp(x, axis=-1))


@invariant("E", level="limits", source=EQUATION)
def test_nothing_but_minus_infinity(logsumexp: Operation, draw: Draw) -> None:
    """A row of −∞ alone gives −∞, the logarithm of an empty sum, beside rows that have finite entries too."""
    x = draw_logit_rows(draw)
    empty = draw.rng.random(x.shape[:-1]) < 0.5
    y = logsumexp(np.where(empty[..., None], -np.inf, x), axis=-1).value
    assert_identical(y[empty], np.full(np.sum(empty), -np.inf))


@invariant("E", level="no-entries")
def test_no_entries(logsumexp: Operation, draw: Draw) -> None:
    """An axis without entries gives −∞, the logarithm of an empty sum."""
    x, axis = draw_no_entries(draw)
    y = logsumexp(x, **axis)
    assert_identical(y, np.full(np.shape(y.value), -np.inf))
