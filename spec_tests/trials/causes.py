"""The causes of the failures of a backend: each is found once, recognized in its other failures, and then only counted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, permutations

from ..calls.call import Call
from ..calls.history import list_lost
from ..calls.violation import Lost, NoAnswer
from ..diagnosis.evidence import Evidence, contradicts_a_rank, is_comparable, is_wrong
from ..diagnosis.explain import explain
from ..diagnosis.known_deviations import FURTHER_CALLS
from ..diagnosis.known_pairs import explain_together, find_pair
from ..diagnosis.wish import Wish
from ..implementation.backend import Backend
from ..implementation.states import AUTOCAST
from ..specification.registry import specification
from ..specification.run_settings import current_settings
from .cause import UNEXPLAINED, Asker, Cause
from .circumstances import Circumstance, find_circumstance
from .failure import Failure
from .failure_budget import FailureBudget
from .forward_result import find_cause_of_forward, find_failure_of_forward, find_in_forward
from .new_cause import search, search_ranks
from .settling import SETTLING_CALLS, find_superseded, identify, settle

IS_FORWARD_UNCHANGED = "forward_unchanged"  # the law that compares a result with the one that is differentiated
GRADIENT = "_vjp"  # the end of the name of a gradient
PAIRS_SHARE = 0.15  # of the work for a search, to try two known bugs together


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
            # whatever values are wrong elsewhere, they explain no exception
            of_forward = None if failure.surroundings else find_failure_of_forward(failure, asker)
            return self._find_symptom(failure) or (self._find_symptom(of_forward) if of_forward else None)
        if not (wrong := failure.wrong_calls):
            known = self._find_symptom(failure) or find_in_forward(self.found, failure.calls, asker)
            known = known or self._find_predicting(_find_origin(failure, asker))
            known = known or next((cause for cause in self.found if asker.would_fail(failure, cause.explanations)), None)
            return known or self._find_other_gradient(failure)
        if failure.state == AUTOCAST and (known := self._find_arithmetic(failure)):
            return known
        if known := self._find_predicting(wrong):
            return known
        if known := self._find_predicting(_find_origin(failure, asker)):
            return known
        known = next((cause for cause in self.found if cause.takes_in(failure)), None)
        return known if known and failure.dtype in known.dtypes else find_in_forward(self.found, wrong, asker)

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

    def _find_other_gradient(self, failure: Failure) -> Cause | None:
        """Return the cause of wrong gradients, where the result is another one when it is differentiated, None elsewhere.

        What is differentiated is then another function, which has another gradient.
        """
        if failure.law != f"{failure.operation}.{IS_FORWARD_UNCHANGED}":
            return None
        return next((cause for cause in self.found if cause.operation == failure.operation and not cause.shown), None)

    def _find_arithmetic(self, failure: Failure) -> Cause | None:
        """Return the near miss of the operation: under autocast the steps of another arithmetic are rounded once more."""
        return next((cause for cause in self.found if cause.kind == "near miss" and cause.operation == failure.culprit), None)

    def _find_predicting(self, wrong: list[Call]) -> Cause | None:
        """Return the cause that explains the first of some wrong answers, None if one of them is explained by none."""
        explaining = [next((cause for cause in self.found if cause.predicts(call)), None) for call in wrong]
        return explaining[0] if explaining and all(explaining) else None

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

    def _ask_anew(self, asker: Asker, operation: str, wish: Wish | None = None) -> Iterator[Call]:
        """Yield answers to further calls. Leave out wrong answers that a known cause explains: they say nothing about another."""
        answered = islice(asker.ask(operation, wish), FURTHER_CALLS)
        return (call for call in answered if not self.found or not is_wrong(call) or not self.predicts(call))

    def add(self, failure: Failure, asker: Asker, budget: FailureBudget) -> Cause:
        """Look for what explains a failing example that no known cause explains. Return the cause, which may be a known one."""
        cause = self._explain(failure, asker, budget)
        if known := next((other for other in self.found if other.is_same(cause)), None):
            known.dtypes |= cause.dtypes
            return known
        further = islice(asker.ask(failure.culprit), SETTLING_CALLS)
        if earlier := find_superseded(cause.explanations, cause.operation, self.found, further):
            return earlier.explain_by(cause)
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
        if specification(failure.culprit).declaration.random:
            return _leave_unexplained(failure)
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
        if of_ranks := search_ranks(evidence, ask, budget.search):
            explained = [of_ranks]
        else:
            ask_anew = partial(self._ask_anew, asker, failure.culprit)
            explained = explain(evidence, known, is_late, ask_anew, asker.answer_instead, asker.ask_in_float32)
        explanations = [found for found in explained if not contradicts_a_rank(found.predicts, evidence)]
        new = [call for call in failure.wrong_calls if not self.predicts(call)]
        if not explanations and (of_forward := find_cause_of_forward(self.found, new, asker)) is not None:
            return of_forward  # the gradient of a wrong result cannot be judged
        if not explanations and (at_work := self._find_two_at_work(evidence, budget)):
            return at_work
        if not explanations and (found := find_pair(evidence, budget.search.part(PAIRS_SHARE), ask)):
            explanations = [found]
        if not explanations and (found := search(evidence, failure.culprit, asker, budget.search)):
            explanations = [found]
        if explanations:
            if len(explanations) > 1:  # what was seen does not decide between them
                explanations = settle(explanations, islice(ask(), SETTLING_CALLS))
            ids = tuple(sorted(map(identify, explanations)))
            to_mend = explanations[0].operation if asker.backend.has(explanations[0].operation) else failure.culprit
            return Cause(ids, to_mend, explanations, failure, *counts)
        return _leave_unexplained(failure, *counts)


def _leave_unexplained(failure: Failure, wrong: int = 0, right: int = 0) -> Cause:
    """Return the cause of a failure that nothing explains: its wrong answers, or else its symptom."""
    is_unexplained = bool(failure.wrong_calls)
    ids = (f"{failure.culprit}: {UNEXPLAINED}",) if is_unexplained else failure.symptoms
    return Cause(ids, failure.culprit, [], failure, wrong, right, is_unexplained, dtypes={failure.dtype})


def _describe_exception(failure: Failure, asker: Asker) -> Cause:
    """Return the cause of a call without an answer. Exceptions at several places are one if the same calls raise them.

    A gradient has no answer where the operation itself has none.
    """
    violation = failure.violation
    raised = not failure.surroundings and not isinstance(violation, Lost) and isinstance(violation, NoAnswer) and violation.raised
    region = asker.find_raising_region(failure.calls[-1]) if raised and failure.calls else None
    ids = (*failure.symptoms, *([f"{failure.culprit.removesuffix(GRADIENT)}: raises for {region.words}"] if region else []))
    return Cause(ids, failure.culprit, [], failure, raising=region)


def _find_circumstance(failure: Failure, others: list[Call], budget: FailureBudget) -> Circumstance | None:
    """Return what a failure depends on beside the arguments of its calls, None if nothing is found."""
    own = [call for call in others if call.operation.name == failure.culprit and call.operation.dtype == failure.dtype]
    wrong = [*failure.wrong_calls, *filter(is_wrong, own)] if failure.wrong_calls else []
    right = [call for call in own if is_comparable(call) and not is_wrong(call)]
    calls = [call for call in failure.calls if call.operation.name == failure.culprit and call.operation.dtype == failure.dtype]
    return find_circumstance(wrong, right, calls, budget.search)


def _find_origin(failure: Failure, asker: Asker) -> list[Call]:
    """Return the wrong calls that those of a failure come from, [] if there are none. They are looked for once."""
    if failure.origin is None:
        failure.origin = asker.find_origin(failure) if failure.wrong_calls else failure.wrong_at_exact_values
    return failure.origin
