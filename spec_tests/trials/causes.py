"""The causes of the failures of a backend: what explains failing examples, each found once and then only counted.

A cause is one of these:
- an explanation of wrong answers, such as a known deviation; it predicts answers, so that it recognizes its other failures;
- an exception of one type and text, in one operation or at one place in the backend's code;
- another symptom without wrong answers, such as a result of a wrong shape;
- wrong answers of one operation that nothing explains. They are not told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, permutations
from typing import Protocol

from ..calls.call import Call
from ..calls.history import list_lost
from ..calls.violation import Lost, NoAnswer
from ..deviations._oracle_backend import prepare
from ..diagnosis.evidence import Evidence, contradicts_a_rank, is_wrong
from ..diagnosis.explain import explain
from ..diagnosis.explanation import Explanation
from ..diagnosis.known_pairs import explain_together, find_pair
from ..diagnosis.regions.refused import Region as RaisingRegion
from ..diagnosis.regions.region import Region
from ..implementation.backend import Backend
from ..implementation.states import AUTOCAST
from ..specification.formats import FLOAT64_IN_FLOAT32
from ..specification.run_settings import current_settings
from .circumstances import Circumstance, find_circumstance
from .failure import Failure
from .failure_budget import FailureBudget
from .new_cause import Questions, search

UNEXPLAINED = "unexplained"
PAIRS_SHARE = 0.15  # of the work for a search, to try two known bugs together
SETTLING_CALLS = 16  # whose answers decide between explanations that are equally good


class Asker(Questions, Protocol):
    """What the search for a cause asks of a trial, which can call the backend."""

    @property
    def backend(self) -> Backend: ...

    def find_other_calls(self, failing: list[Call]) -> list[Call]: ...

    def forward_of(self, gradient: Call) -> Call: ...

    def is_forward_wrong(self, gradient: Call) -> bool: ...

    def would_fail(self, failure: Failure, explanations: list[Explanation]) -> bool: ...

    def find_raising_region(self, failed: Call) -> RaisingRegion | None: ...

    def find_origin(self, failure: Failure) -> list[Call]: ...


@dataclass(eq=False)
class Cause:
    """What explains some of the failing examples of a backend."""

    ids: tuple[str, ...]  # the same in every run: of the explanations, or of the symptom; causes that share one are one
    operation: str  # the one to mend: the one that failed, or a part of it
    explanations: list[Explanation]  # that are equally good; [] if nothing explains the failure
    example: Failure  # the first one, shrunk
    wrong: int = 0  # wrong answers that the explanation was tested on, when it was found
    right: int = 0  # right answers, none of which contradicts it
    is_unexplained: bool = False  # whether it is wrong answers that nothing explains
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)  # failing examples, by law and dtype
    dtypes: set[str] = field(default_factory=set)  # in which an explanation was looked for
    ended_after: float | None = None  # the seconds after which the safety net ended the search, if it did
    met_shapes: bool = False  # whether the search for it was kept from asking for further shapes
    raising: RaisingRegion | None = None  # for which calls an exception is raised, if that could be told
    shown: str = ""  # what further calls have shown, which no explanation has to be looked for
    lost_call: str = ""  # the sentence about a call of the search for it that ended its process or lost its device
    told: bool = False  # whether a failed test has printed it
    together: list[Explanation] = field(default_factory=list)  # of answers in which another cause is at work as well

    @property
    def kind(self) -> str:
        """What the cause is: the kind of its explanation, "exception", "unexplained" wrong answers, or another "symptom"."""
        if self.explanations:
            return self.explanations[0].kind
        violation = self.example.violation
        if isinstance(violation, NoAnswer) and violation.raised:
            return "exception"
        return UNEXPLAINED if self.is_unexplained else "symptom"

    @property
    def symptom(self) -> str:
        """What was seen, in one sentence: the whole of it where nothing explains it."""
        violation = self.example.violation
        if self.shown:
            return self.shown
        if self.kind == UNEXPLAINED:
            why = "that nothing known explains" if current_settings().seeks_causes else "whose cause was not looked for"
            return f"wrong answers {why}; at first {violation.what}"
        place = violation.raised[1] if isinstance(violation, NoAnswer) and violation.raised else ""
        state = f", with {self.example.surroundings}" if self.example.surroundings else ""
        where = f"; it raises for {self.raising.words.removeprefix('refuses ')}" if self.raising else ""
        return f"{violation.what}{state}{f', at {place}' if place else ''}{where}"

    @property
    def ended_early(self) -> str:
        """What has ended the search for the cause, "" if nothing has: a clock, or the number of shapes that it may ask for."""
        if self.ended_after is not None:
            return f"the search for the cause was ended after {self.ended_after:g} s; on a faster machine it may say more"
        if self.met_shapes:
            return "the search for the cause has reached its limit of new shapes, each of which takes long at first"
        return ""

    def predicts(self, call: Call) -> bool:
        """Whether it explains the wrong answer of a call."""
        return any(
            explanation.predicts(call)
            for explanation in (*self.explanations, *self.together)
            if explanation.kind != "region" or call.operation.name == self.operation  # a region is one of one operation
        )

    def raises(self, call: Call) -> bool:
        """Whether the equation of an explanation cannot be computed for a call, as that of an axis which the arrays lack."""
        for explanation in self.explanations:
            if (equation := explanation.equation_of(call.operation.name)) is not None:
                try:
                    call.evaluate(lambda x: x, prepare(call.operation.name, equation, call.operation.storage))
                except (IndexError, ValueError):
                    return True
        return False

    def covers(self, call: Call) -> bool:
        """Whether it is a region that holds the call, though the error may not show in its answer."""
        return any(isinstance(explanation, Region) and explanation.covers(call) for explanation in self.explanations)

    def takes_in(self, failure: Failure) -> bool:
        """Whether a failure that nothing explains is counted for this cause: nothing explains the cause either."""
        is_open = self.is_unexplained or bool(self.shown)
        return not isinstance(failure.violation, NoAnswer) and is_open and self.operation == failure.culprit

    def is_same(self, other: Cause) -> bool:
        """Whether two causes are one: they share an id, as where the one settles which explanation of the other is right."""
        return not set(self.ids).isdisjoint(other.ids)


class Causes:
    """The causes that were found in a backend, in the order in which they were found."""

    def __init__(self, backend: Backend) -> None:
        self.found: list[Cause] = backend.causes

    def __iter__(self) -> Iterator[Cause]:
        return iter(self.found)

    def find(self, failure: Failure, asker: Asker) -> Cause | None:
        """Return the known cause that explains a failing example, None if there is none."""
        if not self.found:
            return None
        if not current_settings().seeks_causes:
            return self._find_symptom(failure)
        if failure.surroundings or (isinstance(failure.violation, NoAnswer) and failure.violation.raised):
            return self._find_symptom(failure)  # whatever values are wrong elsewhere, they explain no exception
        if not (wrong := failure.wrong_calls):
            known = self._find_symptom(failure) or self._find_in_forward(failure.calls, asker)
            known = known or self._find_predicting(_find_origin(failure, asker))
            return known or next((cause for cause in self.found if asker.would_fail(failure, cause.explanations)), None)
        if failure.state == AUTOCAST and (known := self._find_arithmetic(failure)):
            return known
        if known := self._find_predicting(wrong):
            return known
        if known := self._find_predicting(_find_origin(failure, asker)):
            return known
        known = next((cause for cause in self.found if cause.takes_in(failure)), None)
        return known if known and failure.dtype in known.dtypes else self._find_in_forward(wrong, asker)

    def _find_symptom(self, failure: Failure) -> Cause | None:
        symptoms = set(failure.symptoms)
        return next(
            (
                cause
                for cause in self.found
                if symptoms & set(cause.ids) or ((cause.shown or not failure.surroundings) and cause.takes_in(failure))
            ),
            None,
        )

    def _find_arithmetic(self, failure: Failure) -> Cause | None:
        """Return the near miss of the operation: under autocast the steps of another arithmetic are rounded once more."""
        return next((cause for cause in self.found if cause.kind == "near miss" and cause.operation == failure.culprit), None)

    def _find_predicting(self, wrong: list[Call]) -> Cause | None:
        """Return the cause that explains the first of some wrong answers, None if one of them is explained by none."""
        explaining = [next((cause for cause in self.found if cause.predicts(call)), None) for call in wrong]
        return explaining[0] if explaining and all(explaining) else None

    def _find_in_forward(self, calls: list[Call], asker: Asker) -> Cause | None:
        """Return the cause of wrong gradients: that of the forward result, if it is wrong for the same arguments."""
        known = self._find_cause_of_forward(calls, asker)
        if known is None:
            return None
        return known if all(known.covers(asker.forward_of(call)) or asker.is_forward_wrong(call) for call in calls) else None

    def _find_cause_of_forward(self, calls: list[Call], asker: Asker) -> Cause | None:
        """Return a cause that made the forward operation of gradients fail, if its framework differentiates it."""
        names = {call.operation.name for call in calls}
        if not names or any(name == name.removesuffix("_vjp") or asker.backend.function(name) for name in names):
            return None
        forward = {name.removesuffix("_vjp") for name in names}
        return next((cause for cause in self.found if forward & {law.partition(".")[0] for law, _ in cause.failures}), None)

    def _find_two_at_work(self, evidence: Evidence, budget: FailureBudget) -> Cause | None:
        """Return the first of two causes that explain the evidence together, None if no two do. They are known bugs."""
        known = [(cause, each.id) for cause in self.found for each in cause.explanations if each.kind == "deviation"]
        for (cause, outer), (_, inner) in permutations(known, 2):
            if (both := explain_together(outer, inner, evidence, budget.known.is_spent)) is not None:
                cause.together.append(both)
                return cause
        return None

    def predicts(self, call: Call) -> bool:
        """Whether one of the causes explains the wrong answer of a call."""
        return any(cause.predicts(call) for cause in self.found)

    def add(self, failure: Failure, asker: Asker, budget: FailureBudget) -> Cause:
        """Look for what explains a failing example that no known cause explains. Return the cause, which may be a known one."""
        cause = self._explain(failure, asker, budget)
        if known := next((other for other in self.found if other.is_same(cause)), None):
            known.dtypes |= cause.dtypes
            return known
        for other in self.found:
            explained, exception = (cause, other) if cause.explanations else (other, cause)
            if exception.kind == "exception" and exception.example.calls and explained.raises(exception.example.calls[-1]):
                cause.ids += other.ids  # what explains the wrong answers explains why other calls have none
        self.found.append(cause)
        return cause

    def _explain(self, failure: Failure, asker: Asker, budget: FailureBudget) -> Cause:
        """Look for an explanation of a failure. What nothing explains in one dtype may be explained in another."""
        if not current_settings().seeks_causes:
            return _leave_unexplained(failure)
        if failure.surroundings or isinstance(failure.violation, NoAnswer):
            return _describe_exception(failure, asker)
        failing = _find_origin(failure, asker) or failure.calls
        others = asker.find_other_calls(failing)
        is_lost = any(call.operation.name == failure.culprit for call in list_lost(asker.backend))
        if not is_lost and (depends_on := _find_circumstance(failure, others, budget)):
            own = (f"{failure.culprit}: {depends_on.id}",)
            return Cause(own, failure.culprit, [], failure, shown=depends_on.what, dtypes={failure.dtype})
        is_late = budget.known.is_spent
        evidence = Evidence.gather(failing, others, self.predicts, is_late)
        counts = len(evidence.wrong), len(evidence.right)
        known = [explanation for cause in self.found for explanation in cause.explanations]
        ask = partial(asker.ask, failure.culprit)
        explained = explain(evidence, known, is_late, ask, asker.answer_instead)
        explanations = [found for found in explained if not contradicts_a_rank(found.predicts, evidence)]
        if not explanations and (of_forward := self._find_cause_of_forward(failure.wrong_calls, asker)) is not None:
            return of_forward  # the gradient of a wrong result cannot be judged
        if not explanations and (at_work := self._find_two_at_work(evidence, budget)):
            return at_work
        if not explanations and (found := find_pair(evidence, budget.search.part(PAIRS_SHARE), ask)):
            explanations = [found]
        if not explanations and (found := search(evidence, failure.culprit, asker, budget.search)):
            explanations = [found]
        if explanations:
            if len(explanations) > 1:  # what was seen does not decide between them
                explanations = _settle(explanations, islice(ask(), SETTLING_CALLS))
            ids = tuple(sorted(map(_identify, explanations)))
            to_mend = explanations[0].operation if asker.backend.has(explanations[0].operation) else failure.culprit
            return Cause(ids, to_mend, explanations, failure, *counts)
        return _leave_unexplained(failure, *counts)


def _leave_unexplained(failure: Failure, wrong: int = 0, right: int = 0) -> Cause:
    """Return the cause of a failure that nothing explains: its wrong answers, or else its symptom."""
    is_unexplained = bool(failure.wrong_calls)
    ids = (f"{failure.culprit}: {UNEXPLAINED}",) if is_unexplained else failure.symptoms
    return Cause(ids, failure.culprit, [], failure, wrong, right, is_unexplained, dtypes={failure.dtype})


def _describe_exception(failure: Failure, asker: Asker) -> Cause:
    """Return the cause of a call without an answer. Exceptions at several places are one if the same calls raise them."""
    violation = failure.violation
    raised = not failure.surroundings and not isinstance(violation, Lost) and isinstance(violation, NoAnswer) and violation.raised
    region = asker.find_raising_region(failure.calls[-1]) if raised and failure.calls else None
    ids = (*failure.symptoms, *([f"{failure.culprit}: raises for {region.words}"] if region else []))
    return Cause(ids, failure.culprit, [], failure, raising=region)


def _find_circumstance(failure: Failure, others: list[Call], budget: FailureBudget) -> Circumstance | None:
    """Return what a failure depends on beside the arguments of its calls, None if nothing is found."""
    own = [call for call in others if call.operation.name == failure.culprit and call.operation.dtype == failure.dtype]
    wrong = [*failure.wrong_calls, *filter(is_wrong, own)] if failure.wrong_calls else []
    calls = [call for call in failure.calls if call.operation.name == failure.culprit and call.operation.dtype == failure.dtype]
    return find_circumstance(wrong, calls, budget.search)


def _find_origin(failure: Failure, asker: Asker) -> list[Call]:
    """Return the wrong calls that those of a failure come from, [] if there are none. They are looked for once."""
    if failure.origin is None:
        failure.origin = asker.find_origin(failure) if failure.wrong_calls else failure.wrong_at_exact_values
    return failure.origin


def _settle(explanations: list[Explanation], calls: Iterable[Call]) -> list[Explanation]:
    """Return the explanations that no answer to further calls contradicts, or all if there is none."""
    wrong = [call for call in calls if is_wrong(call)]
    kept = [found for found in explanations if not any(found.predicts(call) is False for call in wrong)]
    return kept or explanations


def _identify(explanation: Explanation) -> str:
    """Return a text that names an explanation: the id of a deviation where it was made, else the operation and the id."""
    if explanation.id == FLOAT64_IN_FLOAT32:
        return explanation.id
    if explanation.kind == "deviation":
        return f"{explanation.operation}/{explanation.id.rpartition('/')[2]}"
    return f"{explanation.operation}: {explanation.id}"
