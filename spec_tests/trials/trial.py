"""A trial: one invariant on one backend in one dtype. It makes the operations and keeps calls for the diagnosis."""

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
from .conventions import infer_values
from .recorder import ExampleRecorder
from .tally import STRICTNESS, Tally

GENERAL = ("operation", "gradient")  # the parameter of an invariant that holds of every operation, or of every gradient

MAX_RECORDED_CALLS = 32  # per operation and dtype

MAX_RECORDED_PER_INVARIANT = 8  # calls

MAX_RECORDED_ELEMENTS = 4096  # in one call

FRESH_CALLS = 16  # per operation and dtype, for a diagnosis; every second one has every optional argument


@dataclass(repr=False)
class Trial:
    """One invariant on one backend in one dtype."""

    backend: Backend
    dtype: str
    precision: str | None = None  # the loosest class that --precision admits, if it is given
    operation_name: str = ""  # the operation that a general invariant is tried on, "" for others
    unmet_need: str = ""  # why the invariant cannot be tried on the backend, if it needs what the backend lacks
    redundant: bool = False  # deselected: too costly at this effort, or it would only say again that an operation is absent
    max_examples: int = 1  # in this dtype
    tally: Tally = field(default_factory=Tally)
    _operations: dict[str, Operation] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"<{self.id}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Keep Hypothesis from printing every field, with the arrays of all calls."""
        printer.text(repr(self))

    @property
    def id(self) -> str:
        return "-".join(part for part in (self.operation_name, self.backend.name, self.dtype) if part)

    @cached_property
    def recorder(self) -> ExampleRecorder:
        return ExampleRecorder(self.tally)

    def remember(self, calls: list[Call]) -> None:
        """Keep some calls and their results, for the diagnosis of failures of this invariant and of later ones."""
        for call in calls:
            known = self.backend.recorded_calls.setdefault((call.operation.name, self.dtype), [])
            if (
                len(known) < MAX_RECORDED_CALLS
                and self.tally.recorded_count < MAX_RECORDED_PER_INVARIANT
                and call.observed is not None
                and _is_small(call)
            ):
                known.append(call)
                self.tally.recorded_count += 1

    @property
    def other_calls(self) -> list[Call]:
        """Return other answered calls: those kept from earlier examples, of any invariant, and those made for a diagnosis."""
        fresh = [call for name in {call.operation.name for call in self.tally.calls} for call in self._fresh_calls(name)]
        return fresh + [call for calls in self.backend.recorded_calls.values() for call in calls]

    def _fresh_calls(self, name: str) -> list[Call]:
        """Call the backend on a fixed set of examples, once per operation and dtype, and reuse the results in later diagnoses.

        Call nothing if an earlier call timed out or ended its process.
        """
        if self.tally.losses:
            return []
        if (name, self.dtype) not in self.backend.fresh_calls:
            self.backend.fresh_calls[name, self.dtype] = list(self._answer_fresh_examples(name))
        return self.backend.fresh_calls[name, self.dtype]

    def _answer_fresh_examples(self, name: str) -> Iterator[Call]:
        operation = Trial(self.backend, self.dtype, self.precision, self.operation_name).operation(name)
        for example in range(FRESH_CALLS):
            with suppress(Exception):  # a call without a readable result is no evidence
                random_source = random.Random(f"{name} {self.dtype} {example}")
                draw = Draw(random_source.randint, operation, shape_choices(name, random_source))
                call = draw.call(all_arguments=example % 2 == 1)
                if _is_small(call):
                    operation.values(call, operation.run(call))
                    yield call

    def operation(self, name: str) -> Operation:
        """Return an operation of the backend in the trial's dtype. It is judged by the strictest class that anyone states."""
        if name not in self._operations:
            spec = specification(name)
            stated = [p for p in (spec.precision, self.backend.precision(name), self.precision) if p]
            strictest = "exact" if spec.precision == "exact" else min(stated, key=STRICTNESS.index)
            kind = Gradient if spec.is_gradient else Operation
            self._operations[name] = kind(spec, self.backend, self.dtype, strictest, self.recorder, infer_values)
        return self._operations[name]

    def missing(self, names: tuple[str, ...]) -> str:
        """Return why the invariant of these operations cannot be tried, "" if it can."""
        reasons = (self.operation(self.operation_name if name in GENERAL else name).missing for name in names)
        return next((reason for reason in reasons if reason), self.unmet_need)


def _is_small(call: Call) -> bool:
    return call.size <= MAX_RECORDED_ELEMENTS and call.value.size <= MAX_RECORDED_ELEMENTS
