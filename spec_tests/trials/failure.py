"""One failing example: the violation, and the calls that the example made."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..calls.call import Call
from ..calls.ranks import represent
from ..calls.severity import NOT_FINITE, VISIBLE, severity
from ..calls.steps import Steps
from ..calls.violation import STATE, NoAnswer, Violation
from ..diagnosis.evidence import answer_of, has_wrong_elements, is_wrong, truth_of, wrong_in
from ..implementation.states import AUTOCAST, CALL_STATES
from ..specification.tiers import SURROUNDINGS


@dataclass
class Failure:
    """A failing example of a trial. It has no calls if the violation is none of an example, as where a function is missing."""

    law: str  # the id of the invariant
    operation: str  # that the law is about
    dtype: str
    violation: Violation
    choices: tuple[int, ...] = ()  # the numbers that make the example again
    calls: list[Call] = field(default_factory=list)  # in the order of the law's operations
    last_call: Call | None = None  # the last one that was made
    steps: Steps = field(default_factory=Steps)  # what a law about state did, in its order; none of other laws
    replay: Callable[[Any, Any], None] | None = None  # runs the law on another trial, with a source of choices
    repeats: bool = True  # whether the violation came again on the same inputs
    origin: list[Call] | None = None  # the wrong calls of other operations that its own come from; None until it is looked for

    @property
    def wrong_calls(self) -> list[Call]:
        """The calls whose answers are wrong by themselves. A law may also fail where each answer is within its bound."""
        if isinstance(self.violation, NoAnswer):
            return []
        own = [represent(call, has_wrong_elements) for call in self.calls if call.operation.dtype == self.dtype]
        return list(filter(has_wrong_elements, own))

    @cached_property
    def wrong_at_exact_values(self) -> list[Call]:
        """The calls whose answers are wrong for the arguments that were passed, though a law allows for an error of these."""
        exact = [call.at_exact_values() for call in self.calls if call.inexact and call.observed is not None]
        return [call for call in exact if call.operation.dtype == self.dtype and is_wrong(call)]

    @cached_property
    def severity(self) -> int:
        """How much the wrong answers matter to a person. An exception matters as a NaN does."""
        if isinstance(self.violation, NoAnswer):
            return NOT_FINITE
        errors = (severity(answer_of(call), truth_of(call).value)[wrong_in(call)] for call in self.wrong_calls)
        return max((int(error.max()) for error in errors), default=VISIBLE)

    @property
    def culprit(self) -> str:
        """The operation that failed: that of the wrong calls, or of the call that could not be read, or that of the law.

        Where the wrong answers come from wrong calls of another operation, it is that one.
        """
        if wrong := self.origin or self.wrong_calls:
            return wrong[0].operation.name
        unread = self.last_call is not None and (isinstance(self.violation, NoAnswer) or self.last_call.observed is None)
        return self.last_call.operation.name if self.last_call is not None and unread else self.operation

    @property
    def state(self) -> str:
        """The state of the framework in which the law failed, "" if it is the usual one."""
        state = next((fact for label, fact in self.violation.facts if label == STATE), "")
        return state if state in CALL_STATES else ""

    @property
    def surroundings(self) -> str:
        """The state of the framework that alone made the law fail, "" if none did. It is one cause over all operations."""
        return "" if self.state == AUTOCAST and self.wrong_calls else self.state

    @property
    def symptoms(self) -> tuple[str, ...]:
        """What tells failures without wrong answers apart: an exception, the kind of the result, or the law.

        They are the same in every dtype and for all inputs, so that failures of one cause have the same. An exception has one
        for its operation and one for its place: one of them makes two exceptions the same.
        """
        violation = self.violation
        if self.surroundings:
            return (f"{SURROUNDINGS}: {self.surroundings}",)
        if isinstance(violation, NoAnswer) and violation.raised:
            _, place = violation.raised
            text = _leave_out_values(violation.what)
            return (f"{self.culprit}: {text}", *([f"{text} at {place}"] if place else []))
        if violation.symptom:
            return (f"{self.culprit}: {violation.symptom}",)
        is_unread = self.last_call is None or self.last_call.observed is None
        if (isinstance(violation, NoAnswer) or is_unread) and (text := _drop_numbers(violation.what)):
            return (f"{self.culprit}: {text}",)
        return (f"{self.culprit}: {self.law.partition('.')[2]}",)


def _leave_out_values(text: str) -> str:
    """Return the text of an exception without what differs from example to example: numbers, addresses, shapes and dtypes."""
    text = re.sub(r"0x[0-9a-fA-F]+|\bb?float(?:16|32|64)\b|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", "…", text)
    text = re.sub(r"…(?:[\s,;x×*]*…)+", "…", text)  # the entries of a shape, of which there may be more or fewer
    text = re.sub(r"[(\[]\s*…?[\s,]*[)\]]", "…", text)
    return " ".join(text.split())


def _drop_numbers(text: str) -> str:
    """Return the text up to its first number or list of numbers, which differ from example to example."""
    return re.split(r"[\d(\[]", text, maxsplit=1)[0].strip()
