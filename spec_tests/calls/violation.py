"""A statement of the specification that did not hold, and where it is worst."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..bounds.expectation import Expectation
    from ..implementation.guard import Fault


class Violation(AssertionError):
    """`facts` are the lines of the failure message that say what was observed, as (label, text)."""

    def __init__(self, what: str, facts: list[tuple[str, str]] | None = None):
        super().__init__(what)
        self.what, self.facts = what, facts or []


class NoAnswer(Violation):
    """The call gave no answer that could be judged, so that nothing explains its values."""


class Lost(NoAnswer):
    """It had none in time, or took its process along: to see it again costs as much."""


def from_fault(fault: Fault) -> NoAnswer:
    return (Lost if fault.late or fault.lost else NoAnswer)(fault.what, fault.facts)


@contextmanager
def add_fact(label: str, fact: str) -> Iterator[None]:
    """What is violated meanwhile is told with one more fact."""
    try:
        yield
    except Violation as violation:
        violation.facts.append((label, fact))
        raise


def not_repeated(violation: Violation) -> Violation:
    """What was seen once, and not again on the very same inputs: an answer that depends on earlier calls, or on chance."""
    return type(violation)(violation.what, [*violation.facts, ("repeated", "the same inputs did not fail again")])


class NotImplementedVariant(Exception):
    """The backend refused this combination of arguments with NotImplementedError."""


def format_pair(a: Any, b: Any) -> tuple[str, str]:
    """Of nine digits, or of as many as it takes to tell them apart."""
    if not isinstance(a, float | np.floating):
        return str(a), str(b)
    written = [(f"{float(a):.{digits}g}", f"{float(b):.{digits}g}") for digits in range(9, 18)]
    return next((pair for pair in written if pair[0] != pair[1]), written[0])


def format_index(index: tuple[Any, ...]) -> str:
    return "[" + ", ".join(str(int(i)) for i in index) + "]" if index else "the only element"


def exceeds_bound(
    result: np.ndarray, expectation: Expectation, accepted: np.ndarray, where: Callable[[tuple[Any, ...]], str] = format_index
) -> Violation:
    """The worst of the elements that no correct implementation stores."""
    with np.errstate(all="ignore"):
        distance = np.abs(result - expectation.value)
        excess = np.where(accepted, -1.0, np.where(np.isnan(distance), np.inf, distance / expectation.radius))
    at = np.unravel_index(int(np.argmax(excess)), result.shape)
    got, value, bound = float(result[at]), float(expectation.value[at]), float(expectation.radius[at])
    wrong = f"{int(np.sum(~accepted))} of {result.size} elements are wrong; the worst is {where(at)}"
    with np.errstate(all="ignore"):
        error = abs(got - value)
        ulp = 2 * float(expectation.storage.half_gap(expectation.storage.round(value), np.asarray(value)))
    told = np.isfinite(error) and bound <= abs(value) and error >= ulp / 2 > 0  # of what should vanish ulps say nothing
    ulps = f", {error / ulp:.3g} ulp of {expectation.storage.name}" if told else ""
    expected, answered = format_pair(value, got)
    return Violation(
        wrong,
        [
            ("expected", expected),
            ("got", answered),
            ("error", f"{error:.3g}{_times(error, bound)}{ulps}"),
            ("bound", f"{bound:.3g}"),
        ],
    )


def _times(error: float, bound: float) -> str:
    if not (bound > 0 and np.isfinite(error)):
        return ""
    with np.errstate(all="ignore"):
        ratio = f"{error / bound:.3g}"
    return ", just above the bound" if ratio == "1" else f" = {ratio} x the bound"


def sides_differ(a: np.ndarray, b: np.ndarray, allowed: np.ndarray) -> Violation:
    """The worst of the elements in which two sides of an equation do not meet; allowed is infinite where nothing is claimed."""
    with np.errstate(all="ignore"):
        distance = np.abs(a - b)
        same = (distance <= allowed) | (a == b) | np.isinf(allowed)
        excess = np.where(same, -1.0, np.where(np.isnan(distance), np.inf, distance / allowed))
    at = np.unravel_index(int(np.argmax(excess)), a.shape)
    left, right = format_pair(a[at], b[at])
    return Violation(
        f"{int(np.sum(~same))} of {a.size} elements differ; the worst is {format_index(at)}",
        [
            ("left", left),
            ("right", right),
            ("apart", f"{distance[at]:.3g}{_times(distance[at], allowed[at])}"),
            ("bound", f"{allowed[at]:.3g}"),
        ],
    )
