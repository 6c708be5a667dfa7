"""A trial: one invariant on one backend in one dtype. It makes the operations and keeps calls for the diagnosis."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..calls.call import Call
from ..calls.gradient import Gradient
from ..calls.operation import Operation
from ..calls.recorder import Recorder
from ..calls.severity import NOT_FINITE
from ..calls.violation import Lost, Violation
from ..implementation.backend import Backend
from ..implementation.framework import Framework
from ..inputs.choices import ReplayedChoices
from ..inputs.chosen_draw import draw_small_call
from ..inputs.effort import current_effort
from ..specification.registry import specification
from ..specification.work import Budget
from .conventions import infer_values
from .failure_budget import FailureBudget, budget_of_failure, whole_budget
from .first_failure import cause_search
from .recorder import ExampleRecorder
from .shares import STRICTNESS
from .tally import Finding, Tally

if TYPE_CHECKING:
    from ..diagnosis.evidence import Evidence
    from ..diagnosis.explanation import Explanation
    from ..diagnosis.regions.refused import Region as RaisingRegion
    from ..diagnosis.regions.region import Region
    from ..diagnosis.wish import Wish
    from .cause import Cause
    from .causes import Causes
    from .failure import Failure

GENERAL = ("operation", "gradient")  # the parameter of an invariant that holds of every operation, or of every gradient

MAX_RECORDED_CALLS = 32  # per operation and dtype
MAX_RECORDED_PER_INVARIANT = 8  # calls

MAX_RECORDED_ELEMENTS = 4096  # in one call

MAX_FIRST_CALLS = 1024  # per backend, each with a result of another shape

ASKED_CALLS = 160  # at most, to test what was found

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
    most_examples: int = 1  # in this dtype, if the backend answers none of those before
    part: tuple[int, int] = (0, 1)  # its place among the trials of this law in several dtypes, and their number
    tally: Tally = field(default_factory=Tally)
    announce: Callable[[Failure], None] = lambda failure: None  # is told of a failure before the search for its cause begins
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
        first = self.backend.first_calls
        for call in calls:
            if (
                call.observed is not None
                and len(first) < MAX_FIRST_CALLS
                and call.observed.size <= MAX_RECORDED_ELEMENTS >= call.size
            ):
                first.setdefault((call.operation.name, self.dtype, call.observed.shape), call)
            known = self.backend.recorded_calls.setdefault((call.operation.name, self.dtype), [])
            if (
                len(known) < MAX_RECORDED_CALLS
                and self.tally.recorded_count < MAX_RECORDED_PER_INVARIANT
                and call.observed is not None
                and _is_small(call)
            ):
                known.append(call)
                self.tally.recorded_count += 1

    # --- what a diagnosis asks for --------------------------------------------------------------------------------------

    @property
    def causes(self) -> Causes:
        """The causes of failures that were found in the backend so far."""
        return cause_search().Causes(self.backend)

    def after_failure(self, operation: str) -> AbstractContextManager[FailureBudget]:
        """Give the budgets of the next failure of the operation in a block. Count what the block spends."""
        return budget_of_failure(self.backend, operation)

    def meet(self, failure: Failure, budget: FailureBudget | None = None) -> Cause:
        """Find the cause of a failing example, which may be a known one, and count the example for it.

        The budget is all that the effort allows, if it is not given.
        """
        if budget is None:
            with whole_budget(self.backend, failure.operation) as budget:
                return self.meet(failure, budget)
        cause = self.causes.find(failure, self) or self.causes.add(failure, self, budget)
        if budget.is_cut:
            cause.ended_after = current_effort().failure_seconds
        cause.met_shapes |= budget.shapes.is_met
        self.count(cause, failure)
        return cause

    def is_other_failure(self, failure: Failure) -> bool:
        """Whether shrinking has come to another cause, or to an error that matters less to a person."""
        first = self.tally.failure  # of those before
        is_new_loss = isinstance(failure.violation, Lost) and first is not None and not isinstance(first.violation, Lost)
        if is_new_loss or failure.severity < self.tally.least_severity:
            return True
        return self.causes.find(failure, self) is not self.tally.shrunk_cause

    def shown_failure(self, cause: Cause) -> Failure | None:
        """Return the failure with which a cause is shown, None if another trial has found the cause."""
        return next((found.failure for found in self.tally.findings if found.cause is cause and found.is_new), None)

    def shown_severity(self, cause: Cause) -> int:
        """Return how much the error matters with which a cause is shown, NOT_FINITE if another trial has found the cause."""
        shown = self.shown_failure(cause)
        return NOT_FINITE if shown is None else shown.severity

    def show_with(self, cause: Cause, failure: Failure) -> None:
        """Show the cause, which this trial has found, with another failing example."""
        finding = next(finding for finding in self.tally.findings if finding.cause is cause)
        cause.example = finding.failure = failure

    def count(self, cause: Cause, failure: Failure) -> None:
        """Count a failing example for its cause."""
        cause.failures[failure.law, failure.dtype] += 1
        if (finding := next((known for known in self.tally.findings if known.cause is cause), None)) is not None:
            finding.examples += 1
        else:
            self.tally.findings.append(Finding(cause, failure, is_new=cause.example is failure))

    def find_cause(self) -> None:
        """Look for the cause of a failing example that was not shrunk, for which no cause was looked for."""
        assert self.tally.failure is not None
        self.meet(self.tally.failure)

    @property
    def other_calls(self) -> list[Call]:
        """Return other answered calls than those of the failing example."""
        return self.find_other_calls(self.tally.calls)

    def find_other_calls(self, failing: list[Call]) -> list[Call]:
        """Return other answered calls: those kept from earlier examples, of any invariant, and those made for a diagnosis."""
        fresh = [call for name in dict.fromkeys(call.operation.name for call in failing) for call in self._fresh_calls(name)]
        return fresh + [call for calls in self.backend.recorded_calls.values() for call in calls]

    def find_region(self, name: str, evidence: Evidence, budget: Budget, halves: Sequence[Explanation] = ()) -> Region | None:
        """Return where the answers of an operation are wrong, None if no region predicts fresh answers or the budget is spent.

        One of `halves`, each of which explains all wrong answers of the evidence, may be what is wrong there.
        """
        if self.tally.losses or budget.is_spent():
            return None
        ask = cause_search().ask_about(self.operation(name), seed=0, budget=budget)
        return cause_search().find_wrong_region(evidence, ask=ask, budget=budget, halves=halves)

    def find_raising_region(self, failed: Call) -> RaisingRegion | None:
        """Return where the operation of a failed call raises or is lost. The calls that are made for it are no evidence."""
        apart = Trial(self.backend, self.dtype, self.precision, self.operation_name)
        return cause_search().find_raising_region(apart.operation(failed.operation.name), failed)

    def ask_in_float32(self, call: Call) -> Call | None:
        """Return the call in float32, answered; None if it has no answer, or if an earlier call was lost."""
        return None if self.tally.losses else cause_search().answer_in_float32(call)

    def answer_instead(self, call: Call, arguments: dict[str, Any]) -> Call | None:
        """Return a call with other values of some arguments, answered; None if it has no answer, or an earlier call was lost."""
        return None if self.tally.losses else cause_search().answer_instead(call, arguments)

    def forward_of(self, gradient: Call) -> Call:
        """Return the forward call with the arguments of a gradient."""
        assert isinstance(gradient.operation, Gradient)
        call: Call = cause_search().forward_call(gradient, gradient.operation.forward)
        return call

    def run_forward(self, gradient: Call) -> tuple[Call, Violation | None]:
        """Run the forward operation with the arguments of a gradient. Return the call, and why it has no answer, if so."""
        assert isinstance(gradient.operation, Gradient)
        forward, call = gradient.operation.forward, self.forward_of(gradient)
        try:
            forward.values(call, forward.run(call))
        except Violation as violation:
            return call, violation
        except Exception as refused:
            return call, Violation(str(refused))
        return call, None

    def find_origin(self, failure: Failure) -> list[Call]:
        """Return the wrong calls that each wrong answer of a failing example comes from, [] if one does not come from others."""
        found: list[Call] = [] if self.tally.losses else cause_search().find_origin(failure, self._find_part)
        return found

    def _find_part(self, name: str) -> Operation | None:
        """Return an operation of the backend that may stand for a part of an equation, None if there is none with one result."""
        if self.backend.function(name) is None or specification(name).has_several_results:
            return None
        operation = replace(self.operation(name), recorder=Recorder())
        return None if operation.missing else operation

    def would_fail(self, failure: Failure, explanations: list[Explanation]) -> bool:
        """Whether the failing example fails too if the backend is the oracle with the equation of an explanation in it."""
        if failure.replay is None:
            return False
        for explanation in explanations:
            for name in dict.fromkeys(call.operation.name for call in failure.calls):
                if (equation := explanation.equation_of(name)) is not None and self._fails_with(failure, name, equation):
                    return True
        return False

    def _fails_with(self, failure: Failure, name: str, equation: Any) -> bool:
        """Whether the failing example fails with this equation in place of that of the operation."""
        assert failure.replay is not None
        other = Trial(
            Backend("oracle", cause_search().put_into_oracle(name, equation), Framework("numpy")),
            self.dtype,
            self.precision,
            self.operation_name,
        )
        other.backend.__dict__["meter"] = self.backend.meter  # its work is that of this failure
        for operation in self._operations.values():  # the same example is drawn only if the operation takes the same arguments
            counterpart = other.operation(operation.name)
            counterpart.__dict__.update(accepted_keywords=operation.accepted_keywords, domain=operation.domain)
        try:
            failure.replay(other, ReplayedChoices(failure.choices))
        except Violation:
            return True
        except Exception:  # another backend may have no such example, or not this dtype
            return False
        return False

    def _fresh_calls(self, name: str) -> list[Call]:
        """Call the backend on a fixed set of examples, once per operation and dtype, and reuse the results in later diagnoses.

        Call nothing if an earlier call timed out or ended its process.
        """
        if self.tally.losses:
            return []
        if (name, self.dtype) not in self.backend.fresh_calls:
            self.backend.fresh_calls[name, self.dtype] = list(self._answer_fresh_examples(name, range(FRESH_CALLS)))
        return self.backend.fresh_calls[name, self.dtype]

    def ask(self, name: str, wish: Wish | None = None) -> Iterator[Call]:
        """Call the backend on further examples of the operation, on which an explanation that was found is tested.

        They have what the wish names, and are otherwise drawn as for a law.
        """
        return self._answer_fresh_examples(name, range(FRESH_CALLS, FRESH_CALLS + ASKED_CALLS), wish)

    def _answer_fresh_examples(self, name: str, examples: range, wish: Wish | None = None) -> Iterator[Call]:
        operation = Trial(self.backend, self.dtype, self.precision, self.operation_name).operation(name)
        for example in examples:
            random_source = random.Random(f"{name} {self.dtype} {example}")
            try:
                call = draw_small_call(
                    operation,
                    random_source,
                    all_arguments=wish is None and example % 2 == 1,
                    chosen=cause_search().choose(wish) if wish else None,
                )
                if not _is_small(call):
                    continue
                operation.values(call, operation.run(call))
            except Lost:
                return  # each further call may take as long
            except Exception:
                continue  # a call without a readable result is no evidence
            yield call

    def operation(self, name: str) -> Operation:
        """Return an operation of the backend in the trial's dtype. It is judged by the strictest class that anyone states."""
        if name not in self._operations:
            spec = specification(name)
            own = self.backend.admitted_precision(name) or spec.precision
            stated = [p for p in (own, self.backend.precision(name), self.precision) if p]
            strictest = "exact" if spec.precision == "exact" else min(stated, key=STRICTNESS.index)
            kind = Gradient if spec.is_gradient else Operation
            self._operations[name] = kind(spec, self.backend, self.dtype, strictest, self.recorder, infer_values)
        return self._operations[name]

    def missing(self, names: tuple[str, ...]) -> str:
        """Return why the invariant of these operations cannot be tried, "" if it can."""
        return next(filter(None, map(self.find_absence, names)), self.unmet_need)

    def find_absence(self, name: str) -> str:
        """Return why an operation of the invariant cannot be tried, "" if it can. One that the backend lacks is not imported."""
        name = self.operation_name if name in GENERAL else name
        if self.backend.function(name) or self.backend.function(forward := name.removesuffix("_vjp")):
            return self.operation(name).missing
        return self.backend.describe_absence(forward)


def _is_small(call: Call) -> bool:
    return call.size <= MAX_RECORDED_ELEMENTS and call.value.size <= MAX_RECORDED_ELEMENTS
