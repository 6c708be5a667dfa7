"""What must hold of logsumexp."""

import numpy as np

from .calls.operation import Operation
from .helpers.assertions import assert_equal, assert_finite, assert_identical, assert_unmoved, assert_within, exactly
from .helpers.exact_shifts import row_and_offset
from .inputs.draw import MANY_ROWS, Draw
from .inputs.regimes import LOGITS
from .trials.invariant import invariant

EQUATION = "the denominator of CS336 assignment 1, eq. (10)"
FINITE = {name: fill for name, fill in LOGITS.items() if name != "minus infinity"}
FAR = {name: LOGITS[name] for name in ("extreme", "shifted", "spread", "peaked")}


def shape(draw: Draw, longest: int = 300) -> tuple[int, ...]:
    (n,) = draw.dims(n=longest)
    return (*draw.batch(MANY_ROWS), n)


def rows(draw: Draw) -> np.ndarray:
    return draw.logits(shape(draw))


@invariant("B", source=EQUATION)
def test_shift(logsumexp: Operation, draw: Draw) -> None:
    """logsumexp(x + c) = logsumexp(x) + c, for c up to a quarter of the dtype's largest number, of either sign."""
    x, c = row_and_offset(draw, shape(draw), (3, 7, 11, 14, draw.format.emax - 1))
    assert_equal(logsumexp(x + c, axis=-1), logsumexp(x, axis=-1) + c)


@invariant("B", source=EQUATION)
def test_smooth_maximum(logsumexp: Operation, draw: Draw) -> None:
    """max(x) ≤ logsumexp(x) ≤ max(x) + ln n."""
    x = rows(draw)
    top = exactly(np.max(x, axis=-1))
    assert_within(logsumexp(x, axis=-1), top, top + np.log(exactly(float(x.shape[-1]))))


@invariant("B", source=EQUATION)
def test_equal_entries(logsumexp: Operation, draw: Draw) -> None:
    """n equal entries c give c + ln n, whatever their size: c itself where n = 1."""
    size = shape(draw, 5000)
    c = draw.array((*size[:-1], 1), FINITE)
    assert_equal(logsumexp(np.broadcast_to(c, size), axis=-1), exactly(c[..., 0]) + np.log(exactly(float(size[-1]))))


@invariant("B", source=EQUATION)
def test_permutation(logsumexp: Operation, draw: Draw) -> None:
    """The order of the entries does not matter."""
    x = rows(draw)
    assert_equal(logsumexp(x[..., draw.rng.permutation(x.shape[-1])], axis=-1), logsumexp(x, axis=-1))


@invariant("B", source=EQUATION)
def test_merge(logsumexp: Operation, draw: Draw) -> None:
    """Two parts merge: logsumexp of the whole row is that of the parts' own, as in an online or a split softmax."""
    n, m = draw.dims(n=300, m=300)
    batch = draw.batch(MANY_ROWS)
    left, right = draw.array((*batch, n), FINITE), draw.array((*batch, m), FINITE)
    whole = logsumexp(np.concatenate([left, right], axis=-1), axis=-1)
    a, b = logsumexp(left, axis=-1), logsumexp(right, axis=-1)
    top = np.maximum(a.value, b.value)
    assert_equal(whole, top + np.log(np.exp(a - top) + np.exp(b - top)))


@invariant("B", source=EQUATION)
def test_normalizes(logsumexp: Operation, draw: Draw) -> None:
    """Σ exp(x − logsumexp(x)) = 1, over short rows and long ones."""
    x = draw.logits(shape(draw, 5000))
    assert_equal(np.sum(np.exp(exactly(x) - logsumexp(x, axis=-1)[..., None]), axis=-1), 1.0)


@invariant("F", source=EQUATION)
def test_no_overflow(logsumexp: Operation, draw: Draw) -> None:
    """The result is finite for every finite x whose max(x) + ln n the dtype holds, of either sign or both."""
    x = draw.array(shape(draw), FAR) / 2  # halved, for max(x) + ln n to be representable
    assert_finite(logsumexp(draw.held(x), axis=-1))


@invariant("B", source=EQUATION)
def test_minus_infinity_is_absence(logsumexp: Operation, draw: Draw) -> None:
    """Entries of −∞ leave the result as it is without them."""
    n, hidden = draw.dims(n=300, hidden=300)
    batch = draw.batch(MANY_ROWS)
    x = draw.array((*batch, n), LOGITS)
    padded = np.concatenate([x, np.full((*batch, hidden), -np.inf)], axis=-1)
    order = draw.one_of((np.arange(n + hidden), draw.rng.permutation(n + hidden)))
    assert_equal(logsumexp(padded[..., order], axis=-1), logsumexp(x, axis=-1))


@invariant("B", source=EQUATION)
def test_minus_infinity_is_a_vanishing_entry(logsumexp: Operation, draw: Draw) -> None:
    """An entry of −∞ gives what any entry gives whose exponential vanishes."""
    x, hidden = draw.normal(size := shape(draw), 3.0), draw.rng.random(size) < draw.one_of((0.5, 0.1, 0.9))
    np.put_along_axis(hidden, draw.rng.integers(0, size[-1], (*size[:-1], 1)), False, axis=-1)
    vanishing = -2000.0 if draw.format.name == "float64" else -256.0
    y = logsumexp(np.where(hidden, -np.inf, x), axis=-1)
    assert_unmoved(logsumexp(np.where(hidden, vanishing, x), axis=-1), y)


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
    x = rows(draw)
    empty = draw.rng.random(x.shape[:-1]) < 0.5
    y = logsumexp(np.where(empty[..., None], -np.inf, x), axis=-1).value
    assert_identical(y[empty], np.full(np.sum(empty), -np.inf))
