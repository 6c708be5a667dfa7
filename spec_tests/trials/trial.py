"""One invariant tried on one backend in one dtype, and what was seen on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..calls.call import Call
from ..calls.gradient import Gradient
from ..calls.operation import Operation
from ..implementation.backend import Backend
from ..inputs.choices import shape_choices
from ..inputs.draw import Draw
from ..specification.registry import specification
from .recorder import ExampleRecorder
from .tally import STRICTNESS, Tally

GENERAL = ("operation", "gradient")  # what a statement about each of them calls it

MAX_RECORDED_CALLS, MAX_RECORDED_PER_INVARIANT, MAX_RECORDED_ELEMENTS = (
    32,
    8,
    4096,
)  # calls recorded of an operation, of them one invariant's, and the numbers in one

FRESH_CALLS = 16  # fresh examples that a diagnosis has to stand, half of them with every optional argument


@dataclass(repr=False)
class Trial:
    backend: Backend
    dtype: str
    precision: str | None = None  # of the command line: stricter than the operation's own, or nothing
    operation_name: str = ""  # the operation that an invariant of every operation is tried on
    needs: str = ""  # what the invariant needs and the backend does not have
    redundant: bool = False  # nothing would be learnt from it
    share: int = 1  # so many of the invariant's examples are this dtype's
    tally: Tally = field(default_factory=Tally)
    _operations: dict[str, Operation] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"<{self.id}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis would print every field otherwise, the calls' arrays included."""
        printer.text(repr(self))

    @property
    def id(self) -> str:
        return "-".join(part for part in (self.operation_name, self.backend.name, self.dtype) if part)

    @cached_property
    def recorder(self) -> ExampleRecorder:
        return ExampleRecorder(self.tally)

    def remember(self, calls: list[Call]) -> None:
        """Some calls and their answers, for the diagnosis of this invariant's failure and of later ones."""
        for call in calls:
            known = self.backend.recorded_calls.setdefault((call.operation.name, self.dtype), [])
            if (
                len(known) < MAX_RECORDED_CALLS
                and self.tally.recorded_count < MAX_RECORDED_PER_INVARIANT
                and call.observed is not None
                and _small(call)
            ):
                known.append(call)
                self.tally.recorded_count += 1

    @property
    def other_calls(self) -> list[Call]:
        """What the backend answered in other examples, of other invariants too, and what it answers when it is asked again."""
        asked = [call for name in {call.operation.name for call in self.tally.calls} for call in self._fresh_calls(name)]
        return asked + [call for calls in self.backend.recorded_calls.values() for call in calls]

    def _fresh_calls(self, name: str) -> list[Call]:
        """The same examples for every failure of an operation in a dtype, so once; none where an answer may cost a process."""
        if self.tally.losses:
            return []
        if (name, self.dtype) not in self.backend.fresh_calls:
            self.backend.fresh_calls[name, self.dtype] = list(self._answer_fresh_examples(name))
        return self.backend.fresh_calls[name, self.dtype]

    def _answer_fresh_examples(self, name: str) -> Iterator[Call]:
        operation = Trial(self.backend, self.dtype, self.precision, self.operation_name).operation(name)
        for example in range(FRESH_CALLS):
            with suppress(Exception):  # what cannot be answered or read is no evidence
                by_chance = random.Random(f"{name} {self.dtype} {example}")
                draw = Draw(by_chance.randint, operation, shape_choices(name, by_chance))
                call = draw.call(all_arguments=example % 2 == 1)
                if _small(call):
                    operation.values(call, operation.run(call))
                    yield call

    def operation(self, name: str) -> Operation:
        if name not in self._operations:
            spec = specification(name)
            stated = [p for p in (spec.precision, self.backend.precision(name), self.precision) if p]
            strictest = "exact" if spec.precision == "exact" else min(stated, key=STRICTNESS.index)
            kind = Gradient if spec.is_gradient else Operation
            self._operations[name] = kind(spec, self.backend, self.dtype, strictest, self.recorder)
        return self._operations[name]

    def missing(self, names: tuple[str, ...]) -> str:
        """Why the invariant cannot be tried, if so."""
        reasons = (self.operation(self.operation_name if name in GENERAL else name).missing for name in names)
        return next((reason for reason in reasons if reason), self.needs)


def _small(call: Call) -> bool:
    return call.size <= MAX_RECORDED_ELEMENTS and call.value.size <= MAX_RECORDED_ELEMENTS
