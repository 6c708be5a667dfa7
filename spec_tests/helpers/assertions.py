"""The assertions of laws, among them the only meanings of "equal". Each raises an error; none returns a bool."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..bounds.bounded import Bounded
from ..bounds.expectation import Stage
from ..calls.call import Call
from ..calls.ranks import describe_wrong
from ..calls.recorder import Recorder
from ..calls.result import WIDE, Result, ResultSlice
from ..calls.violation import ANSWER, COMPUTED, EXACT, Violation, exceeds_bound, sides_differ
from ..specification.float_errors import ignored_float_errors
from ..specification.formats import order_classes

Sides = tuple[str, str]  # what the two sides of an equation are, in words


def exactly(x: Any) -> Bounded:
    """Return x as numbers without an error, so that it can be used in arithmetic with results."""
    return x if isinstance(x, Bounded) else Bounded(x, 0.0, WIDE)


def assert_conforms(result: Result, recorder: Recorder | None = None) -> None:
    """The result lies within the error bounds of the equation, in the loosest precision class that passes in this run.

    The classes are nested, so the comparison begins with the one that earlier results have needed. The recorder is told how much
    of the bound the result uses if it wants to know, or if the whole bound had to be derived. It is told of each result of an
    equation that chooses entries, of which many claim nothing.
    """
    call, classes = result.call, result.call.operation.classes()
    for precision in order_classes(classes, recorder.reached if recorder else ""):
        if (accepted := call.expectation(precision).accepts(result.value)).all():
            break
    else:
        precision, accepted = classes[-1], call.expectation(classes[-1]).accepts(result.value)
    expectation = call.expectation(precision)
    if recorder and (recorder.wants_share(precision) or expectation.is_whole or call.chooses):
        recorder.add_comparison(precision, expectation.share(result.value), expectation.claimed, result)
    if not np.all(accepted):
        where = partial(call.operation.place, call)
        violation = exceeds_bound(np.asarray(result.value, dtype=float), expectation, accepted, where)
        if on_ranks := describe_wrong(call, partial(_refused, precision)):
            violation.facts.append(("wrong on", on_ranks))
        raise violation


def _refused(precision: str, call: Call) -> np.ndarray:
    """Return which elements of the answer of a call lie outside the error bound."""
    return np.asarray(~call.expectation(precision).accepts(np.asarray(call.observed, dtype=float)))


def describe_side(x: Any) -> str:
    """Return what a side of an equation is: an answer of the backend, what a law has computed from some, or none of both."""
    if isinstance(x, Result | ResultSlice):
        return ANSWER
    return COMPUTED if isinstance(x, Bounded) and x.of_backend else EXACT


def assert_equal(left: Any, right: Any, *, sides: Sides | None = None) -> None:
    """The two sides may be the same numbers: their intervals meet, element by element. `sides` says what they are.

    Errors are derived only as far as this needs them. Intervals that meet at an early stage meet at a later one, too.
    """
    a, b = exactly(left), exactly(right)
    if np.array_equal(a.value, b.value):
        return
    for stage in Stage:
        a, b = exactly(left).at_stage(stage), exactly(right).at_stage(stage)
        with ignored_float_errors():
            allowed = np.asarray(a.error + b.error)
            distance = np.abs(a.value - b.value)
            met = (distance <= allowed) | (a.value == b.value) | ~np.isfinite(allowed)
        if np.all(met):
            return
    values = np.broadcast_arrays(a.value, b.value, np.where(np.isfinite(allowed), allowed, np.inf))
    raise sides_differ(*values, sides=sides or (describe_side(left), describe_side(right)))


REPEATED = ("the backend's answer", "its other answer to the same inputs")
CHANGED = ("the backend's answer", "its answer before a change that must not matter")


def assert_same(again: np.ndarray | Bounded, first: Bounded) -> None:
    """Both answer the same call. Each may differ from the truth by the error bound, so the two may differ by twice that.

    NaN in both at the same place is the same answer. Whether it is right is for the comparison with the oracle to say.
    """
    values = again.value if isinstance(again, Bounded) else again
    if not np.array_equal(values, first.value, equal_nan=True):
        assert_equal(*_replace_shared_nan(first.with_values(values), first), sides=REPEATED)


def _replace_shared_nan(a: Bounded, b: Bounded) -> tuple[Bounded, Bounded]:
    """Return both with zeros where both are NaN."""
    shared = np.isnan(a.value) & np.isnan(b.value)
    a, b = (x.with_values(np.where(shared, 0.0, x.value)) for x in (a, b))
    return a, b


def assert_identical(left: Any, right: Any, *, sides: Sides | None = None) -> None:
    """The two sides are the same numbers, bit for bit, except that the sign of zero may differ. NaN is NaN.

    The left side is the backend's, also if it is a plain array.
    """
    sides = sides or (describe_side(left) or ANSWER, describe_side(right))
    a, b = (np.asarray(x.value if isinstance(x, Bounded) else x, dtype=float) for x in (left, right))
    if a.shape != b.shape:
        raise Violation(f"the shapes differ: {a.shape} and {b.shape}")
    if not np.array_equal(a, b, equal_nan=True):
        shared = np.isnan(a) & np.isnan(b)
        raise sides_differ(np.where(shared, 0.0, a), np.where(shared, 0.0, b), np.zeros(a.shape), sides=sides)


def assert_zero(x: Bounded, at: Any = ...) -> None:
    """The elements are exactly zero wherever the bound is finite. Elsewhere something may overflow, and 0 · ∞ is NaN."""
    if np.any(x.value[at] != 0):
        claimed = x.value[at][np.isfinite(x.error[at])]
        assert_identical(claimed, np.zeros(claimed.shape))


def assert_all_zero(x: Bounded, at: Any = ...) -> None:
    """All elements are exactly zero, also where the bound is infinite."""
    silent = x.value[at]
    assert_identical(silent, np.zeros(silent.shape))


def assert_unmoved(after: Bounded, before: Bounded, at: Any = ...) -> None:
    """These elements do not depend on what differs between the two calls.

    Most implementations give the same bits. But the order of sums may differ from call to call, and a whole vector may take
    the branch that one of its lanes needs. Where bits differ, the error bound decides, except where both are NaN.
    """
    if not np.array_equal(after.value[at], before.value[at], equal_nan=True):
        assert_equal(*_replace_shared_nan(after[at], before[at]), sides=CHANGED)


def assert_within(x: Any, low: Any, high: Any) -> None:
    """low ≤ x ≤ high may hold, given the errors of all three."""
    x, low, high = exactly(x), exactly(low), exactly(high)
    with ignored_float_errors():
        nearest = np.clip(x.value, low.value - low.error, high.value + high.error)
    assert_equal(x, Bounded(nearest, 0.0, WIDE), sides=(ANSWER, EXACT))


def assert_finite(x: Any, *, unless_they_overflow: bool = False) -> None:
    """All elements are finite, or all but those that right code may store as an infinity."""
    value = x.value if isinstance(x, Bounded) else np.asarray(x)
    infinite = ~np.isfinite(value)
    if unless_they_overflow and np.any(infinite):
        infinite &= np.isfinite(x.error)
    if np.any(infinite):
        bad = np.argwhere(infinite)[0]
        what = f"{int(np.sum(infinite))} of {value.size} elements are not finite"
        raise Violation(f"{what}, {value[tuple(bad)]} at {bad.tolist()}")


def assert_true(holds: bool, what: str, **facts: Any) -> None:
    """The condition holds. Otherwise raise a Violation that says `what`, with the facts."""
    if not holds:
        raise Violation(what, [(label, str(fact)) for label, fact in facts.items()])
