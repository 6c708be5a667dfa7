"""The exceptions of a failed law, and the texts that say which element fails by most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..specification.narrow_formats import NarrowFormat
from .severity import severity

if TYPE_CHECKING:
    from ..bounds.expectation import Expectation
    from ..implementation.guard import Fault


class Violation(AssertionError):
    """A law does not hold. `facts` are the lines of the failure message that say what was observed, as (label, text).

    `symptom` says what is wrong where several laws may see the same, "" where the law itself says it.
    """

    symptom = ""

    def __init__(self, what: str, facts: list[tuple[str, str]] | None = None):
        super().__init__(what)
        self.what, self.facts = what, facts or []


class NoAnswer(Violation):
    """The call returned nothing that could be compared, for example because it raised. There are no values to diagnose."""

    raised: tuple[str, str] | None = None  # the type of the exception, and its place in the backend's code ("" if not known)


class Lost(NoAnswer):
    """The call timed out or ended its process. To repeat it would cost as much again."""

    device_lost = False  # whether it has cost the device


def from_fault(fault: Fault) -> NoAnswer:
    """Return the violation that a fault of the backend is."""
    violation = (Lost if fault.timed_out or fault.lost else NoAnswer)(fault.what, fault.facts)
    violation.raised = fault.raised
    if isinstance(violation, Lost):
        violation.device_lost = fault.device_lost
    return violation


STATE = "state"  # the label of the state of a framework in which a law did not hold


@contextmanager
def add_fact(label: str, fact: str) -> Iterator[None]:
    """Add a fact to any violation that is raised in the block."""
    try:
        yield
    except Violation as violation:
        violation.facts.append((label, fact))
        raise


def not_repeated(violation: Violation) -> Violation:
    """Return the violation with the fact that the same inputs did not fail again.

    The backend's results then depend on earlier calls, or on chance.
    """
    again = type(violation)(violation.what, [*violation.facts, ("repeated", "the same inputs did not fail again")])
    if isinstance(violation, NoAnswer) and isinstance(again, NoAnswer):
        again.raised = violation.raised
    return again


class NotImplementedVariant(Exception):
    """The backend cannot be tried with these arguments. `kind` is one of REFUSAL_KINDS, and says who excludes them."""

    def __init__(self, reason: str, kind: str = "domain"):
        super().__init__(reason)
        self.kind = kind


REFUSAL_KINDS = MappingProxyType(
    {
        "domain": "the arguments lie outside the domain that the backend states",
        "signature": "the backend's function does not take a keyword or an optional argument",
        "gradient": "the framework's graph reaches no argument that is asked about",
        "framework": "the framework cannot make such an array",
        "suite": "the law or the suite does not try such arguments",
        "backend": "the backend raised NotImplementedError",
    }
)


def format_pair(a: Any, b: Any) -> tuple[str, str]:
    """Return two numbers as text with nine digits, or with as many more as tell them apart."""
    if not isinstance(a, float | np.floating):
        return str(a), str(b)
    pairs = [(f"{float(a):.{digits}g}", f"{float(b):.{digits}g}") for digits in range(9, 18)]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


def format_index(index: tuple[Any, ...]) -> str:
    """Return an index as messages print it."""
    return "[" + ", ".join(str(int(i)) for i in index) + "]" if index else "the only element"


def exceeds_bound(
    result: np.ndarray,
    expectation: Expectation,
    accepted: np.ndarray,
    describe_index: Callable[[tuple[Any, ...]], str] = format_index,
) -> Violation:
    """Return the violation of a result with elements outside the error bound.

    It shows the worst of those whose error matters most to a person.
    """
    with np.errstate(all="ignore"):
        distance = np.abs(result - expectation.value)
        excess = np.where(accepted, -1.0, np.where(np.isnan(distance), np.inf, distance / expectation.radius))
        matters = np.where(accepted, -1, severity(result, expectation.value))
        excess = np.where(matters == np.max(matters), excess, -1.0)
    at = np.unravel_index(int(np.argmax(excess)), result.shape)
    got, value, bound = float(result[at]), float(expectation.value[at]), float(expectation.radius[at])
    wrong = f"{int(np.sum(~accepted))} of {result.size} elements are wrong; the worst is {describe_index(at)}"
    with np.errstate(all="ignore"):
        error = abs(got - value)
        storage = expectation.storage.at(at)
        ulp = 2 * float(storage.half_gap(storage.round(value), np.asarray(value)))
    in_ulps = np.isfinite(error) and bound <= abs(value) > 0 and error >= ulp / 2 > 0  # near 0 an error in ulps says nothing
    ulps = f", {error / ulp:.3g} ulp of {storage.name}" if in_ulps else ""
    expected_text, got_text = format_pair(value, got)
    if isinstance(storage, NarrowFormat):
        expected_text, got_text = (storage.describe(x, text) for x, text in ((value, expected_text), (got, got_text)))
    return Violation(
        wrong,
        [
            ("expected", expected_text),
            ("got", got_text),
            ("error", f"{error:.3g}{_compare_with_bound(error, bound)}{ulps}"),
            ("bound", f"{bound:.3g}"),
        ],
    )


def _compare_with_bound(error: float, bound: float) -> str:
    """Return how many times the bound an error is, as text that follows the error."""
    if not (bound > 0 and np.isfinite(error)):
        return ""
    with np.errstate(all="ignore"):
        ratio = f"{error / bound:.3g}"
    return ", just above the bound" if ratio == "1" else f" = {ratio} x the bound"


ANSWER, COMPUTED, EXACT = "the backend's answer", "computed from the backend's answers", ""  # what a side is


def sides_differ(a: np.ndarray, b: np.ndarray, allowed: np.ndarray, *, sides: tuple[str, str]) -> Violation:
    """Return the violation of two sides of an equation that differ by more than allowed. It shows the worst element.

    `allowed` is infinite where the law claims nothing. `sides` says what each side is. One that no answer of the
    backend went into, beside one that does, is what was expected.
    """
    with np.errstate(all="ignore"):
        distance = np.abs(a - b)
        same = (distance <= allowed) | (a == b) | np.isinf(allowed)
        excess = np.where(same, -1.0, np.where(np.isnan(distance), np.inf, distance / allowed))
    at = np.unravel_index(int(np.argmax(excess)), a.shape)
    labels, texts = _name_sides(format_pair(a[at], b[at]), sides)
    difference = f"{distance[at]:.3g}{_compare_with_bound(distance[at], allowed[at])}"
    return Violation(
        f"{int(np.sum(~same))} of {a.size} elements differ; the worst is {format_index(at)}",
        [(labels[0], texts[0]), (labels[1], texts[1]), (labels[2], difference), ("bound", f"{allowed[at]:.3g}")],
    )


def _name_sides(values: tuple[str, str], sides: tuple[str, str]) -> tuple[tuple[str, str, str], list[str]]:
    """Return the labels of the two values and of their difference, and the values with what they are, in this order."""
    if (sides[0] == EXACT) == (sides[1] == EXACT):
        described = [f"{value} ({side})" if side else value for value, side in zip(values, sides, strict=True)]
        return ("one side", "the other", "differ by"), described
    (expected, _), (got, side) = sorted(zip(values, sides, strict=True), key=lambda pair: pair[1] != EXACT)
    return ("expected", "got", "error"), [expected, got if side == ANSWER else f"{got} ({side})"]
