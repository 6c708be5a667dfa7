"""The only meanings of "equal". Each raises; none returns a bool."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.result import WIDE, Result
from ..calls.violation import Violation, exceeds_bound, sides_differ


def exactly(x: Any) -> Bounded:
    """Numbers without an error, to take part in the algebra of results."""
    return x if isinstance(x, Bounded) else Bounded(x, 0.0, WIDE)


def assert_conforms(result: Result, record: Any = None) -> None:
    """The result is one that a correct implementation may give, at the loosest class that passes in this run."""
    call, classes = result.call, result.call.operation.classes()
    for precision in classes:
        expectation = call.expectation(precision)
        accepted = expectation.accepts(result.value)
        if precision == classes[-1] or np.all(accepted):
            break
    if record is not None:
        record(precision, expectation.share(result.value), expectation.claimed, result)
    if not np.all(accepted):
        where = partial(call.operation.place, call)
        raise exceeds_bound(np.asarray(result.value, dtype=float), expectation, accepted, where)


def assert_equal(left: Any, right: Any) -> None:
    """The two sides may be the same number: their intervals meet, element by element."""
    a, b = exactly(left), exactly(right)
    if np.array_equal(a.value, b.value):
        return  # no bound need be known
    with np.errstate(all="ignore"):
        allowed = np.asarray(a.error + b.error)
        distance = np.abs(a.value - b.value)
        met = (distance <= allowed) | (a.value == b.value) | ~np.isfinite(allowed)
    if not np.all(met):
        raise sides_differ(*np.broadcast_arrays(a.value, b.value, np.where(np.isfinite(allowed), allowed, np.inf)))


def assert_same(again: np.ndarray, first: Bounded) -> None:
    """Another answer to the same question: each lies within the bound of the truth, and so they may lie twice as far apart."""
    if not np.array_equal(again, first.value):
        assert_equal(Bounded(again, first.error, WIDE), first)


def assert_identical(left: Any, right: Any) -> None:
    """The two sides are the same numbers, bit for bit (but for the sign of zero)."""
    a, b = (np.asarray(x.value if isinstance(x, Bounded) else x, dtype=float) for x in (left, right))
    if a.shape != b.shape:
        raise Violation(f"the shapes differ: {a.shape} and {b.shape}")
    if not np.array_equal(a, b, equal_nan=True):
        raise sides_differ(a, b, np.zeros(a.shape))


def assert_zero(x: Bounded, at: Any = ...) -> None:
    """Exactly zeros, wherever anything is claimed: of what overflows on its way, 0 · ∞ is NaN."""
    if np.any(x.value[at] != 0):
        claimed = x.value[at][np.isfinite(x.error[at])]
        assert_identical(claimed, np.zeros(claimed.shape))


def assert_unmoved(after: Bounded, before: Bounded, at: Any = ...) -> None:
    """What differs between two calls does not enter these elements. Their bits are the same in most implementations. But sums may
    run in another order at every call, and a vector may take the way that one of its lanes needs: then the bound decides."""
    if not np.array_equal(after.value[at], before.value[at], equal_nan=True):
        assert_equal(after[at], before[at])


def assert_within(x: Any, low: Any, high: Any) -> None:
    """low ≤ x ≤ high may hold, each being known only within its error."""
    x, low, high = exactly(x), exactly(low), exactly(high)
    with np.errstate(all="ignore"):
        nearest = np.clip(x.value, low.value - low.error, high.value + high.error)
    assert_equal(x, Bounded(nearest, 0.0, WIDE))


def assert_finite(x: Any) -> None:
    value = x.value if isinstance(x, Bounded) else np.asarray(x)
    infinite = ~np.isfinite(value)
    if np.any(infinite):
        bad = np.argwhere(infinite)[0]
        what = f"{int(np.sum(infinite))} of {value.size} elements are not finite"
        raise Violation(f"{what}, {value[tuple(bad)]} at {bad.tolist()}")


def assert_true(holds: bool, what: str, **facts: Any) -> None:
    if not holds:
        raise Violation(what, [(label, str(fact)) for label, fact in facts.items()])
