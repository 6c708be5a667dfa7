"""A changed equation in words, and what it predicts of calls: also those of operations that evaluate the changed lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...calls.call import Call
from ..explanation import Explanation
from ..fit import allows, explains
from .neighbours.candidate import Candidate


def describe_equation(candidate: Candidate) -> Explanation:
    """Return a changed equation as an explanation, with what is changed."""
    before, after = candidate.written
    facts = [(label, text) for label, text in (("line", before), ("yours", after)) if text]
    what = f"the answers are those of `{after}`" if after else f"the answers are those without `{before}`"
    if callers := candidate.callers:
        what += f", in the step marked in `{callers[0]}`"
    what += candidate.place
    if candidate.mode is not None:
        what += f" {candidate.mode.words}, and right elsewhere"
    counterparts = _Counterparts(candidate)
    what_it_is = ("equation", candidate.id, what, candidate.part, counterparts.predict, tuple(facts))
    return Explanation(*what_it_is, equation_of=counterparts.equation)


class _Counterparts:
    """The same change in every operation that evaluates the changed lines."""

    def __init__(self, candidate: Candidate):
        self._found: dict[str, Candidate | None] = {candidate.operation: candidate}
        self._candidate = candidate

    def of(self, operation: str) -> Candidate | None:
        if operation not in self._found:
            self._found[operation] = self._candidate.inside(operation)
        return self._found[operation]

    def equation(self, operation: str) -> Callable[..., Any] | None:
        counterpart = self.of(operation)
        return counterpart.function if counterpart else None

    def predict(self, call: Call) -> bool | None:
        """Whether the answer of a call is the one that the equation gives.

        None if it says nothing about the call: if the call's operation does not evaluate the changed lines, or if the equation
        overflows on the way, so that its bound claims nothing where it has no finite value.
        """
        counterpart = self.of(call.operation.name)
        if counterpart is None:
            return None
        return True if explains(counterpart, call) else None if allows(counterpart, call) else False
