"""One invariant tried on one backend in one dtype, and what was seen on the way."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..calls.call import Call
from ..calls.gradient import Gradient
from ..calls.operation import Operation
from ..implementation.backend import Backend
from ..inputs.choices import few_shapes
from ..inputs.draw import Draw
from ..specification.registry import specification
from .tally import STRICTNESS, Progress

GENERAL = ("operation", "gradient")  # what a statement about each of them calls it

EVIDENCE, EACH, SMALL = (
    32,
    8,
    4096,
)  # calls recorded of an operation, of them one invariant's, and the numbers in one

ASKED = 16  # fresh examples that a diagnosis has to stand, half of them with every optional argument


@dataclass(repr=False)
class Trial:
    backend: Backend
    dtype: str
    precision: str | None = None  # of the command line: stricter than the operation's own, or nothing
    subject: str = ""  # the operation that an invariant of every operation is tried on
    needs: str = ""  # what the invariant needs and the backend does not have
    redundant: bool = False  # nothing would be learnt from it
    share: int = 1  # so many of the invariant's examples are this dtype's
    progress: Progress = field(default_factory=Progress)
    _operations: dict[str, Operation] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"<{self.id}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis would print every field otherwise, the calls' arrays included."""
        printer.text(repr(self))

    @property
    def id(self) -> str:
        return "-".join(part for part in (self.subject, self.backend.name, self.dtype) if part)

    def remember(self, calls: list[Call]) -> None:
        """Some calls and their answers, for the diagnosis of this invariant's failure and of later ones."""
        for call in calls:
            known = self.backend.recorded.setdefault((call.operation.name, self.dtype), [])
            if len(known) < EVIDENCE and self.progress.recorded < EACH and call.observed is not None and _small(call):
                known.append(call)
                self.progress.recorded += 1

    @property
    def evidence(self) -> list[Call]:
        """What the backend answered in other examples, of other invariants too, and what it answers when it is asked again."""
        asked = [call for name in {call.operation.name for call in self.progress.calls} for call in self._asked(name)]
        return asked + [call for calls in self.backend.recorded.values() for call in calls]

    def _asked(self, name: str) -> list[Call]:
        """The same examples for every failure of an operation in a dtype, so once; none where an answer may cost a process."""
        if self.progress.losses:
            return []
        if (name, self.dtype) not in self.backend.asked:
            self.backend.asked[name, self.dtype] = list(self._answers(name))
        return self.backend.asked[name, self.dtype]

    def _answers(self, name: str) -> Iterator[Call]:
        operation = Trial(self.backend, self.dtype, self.precision, self.subject).operation(name)
        for example in range(ASKED):
            with suppress(Exception):  # what cannot be answered or read is no evidence
                by_chance = random.Random(f"{name} {self.dtype} {example}")
                draw = Draw(by_chance.randint, operation, few_shapes(name, by_chance))
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
            self._operations[name] = kind(spec, self.backend, self.dtype, strictest)
        return self._operations[name]

    def missing(self, names: tuple[str, ...]) -> str:
        """Why the invariant cannot be tried, if so."""
        reasons = (self.operation(self.subject if name in GENERAL else name).missing for name in names)
        return next((reason for reason in reasons if reason), self.needs)


def _small(call: Call) -> bool:
    return call.size <= SMALL and call.value.size <= SMALL
