"""Where the answers of a backend are wrong, in one sentence.

The search fits a conjunction of conditions to the answers that are known. It then asks the backend for answers that could
contradict it: on both sides of each boundary, and with other sizes and options. A contradiction is added to the answers, and
the search fits again. A region is said only if it predicts fresh answers on both sides.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ...specification.work import Budget
from ..evidence import Evidence
from ..explanation import Explanation
from ..wish import Wish
from .asking import RIGHT, WRONG, Answer, Ask
from .condition import Condition
from .conjunction import Conjunction
from .facts.fact import Fact
from .fit import fit
from .fresh_answers import FreshAnswers
from .region import Count, Region, build_region
from .scans import list_contrasts, list_scans
from .thresholds import sharpen
from .whole_sentence import SilentAnswers, make_whole, say_what_is_seen
from .wishes import list_probes

MAX_ROUNDS = 40  # of fitting and contradicting

MAX_SEEN = 40  # calls of the evidence that the search looks at

MAX_GATHERED = 60  # failures, before the first region is fitted

MIN_SUPPORT = 2  # answers to ordinary values with right elements that one condition alone excludes

MAX_REJECTED = 2  # times that one conjunction is tried

MAX_EXCUSED = 4  # times that right answers inside contradict a region, until it is tried loosely

MAX_LOOSE = 4  # conjunctions that are tried loosely, when nothing better was found

FIRST_ASKED = 12  # answers to begin with, of each sort

GATHERING, CONTRADICTING = 0.35, 0.75  # shares of the budget, after which these steps end


def find_wrong_region(
    evidence: Evidence, *, ask: Ask, budget: Budget, failure: str = "", halves: Sequence[Explanation] = ()
) -> Region | None:
    """Return where the answers are wrong; None if no region predicts fresh answers, or if the budget is spent before.

    `halves` explain all wrong answers of the evidence, and contradict some right ones: one may be what is wrong in the region.
    A right answer that each of them gives too does not tell where that is.
    `failure` is what is looked for in place of wrong values, such as "the call raised ValueError": see `Answer.failure`.
    Without it, that is wrong values if the evidence holds some, else the first failure found.
    """
    search = _Search(evidence, ask, budget, failure, halves)
    if (found := search.run()) is None:
        return None
    region = say_what_is_seen(make_whole(found, search.silent.halves, search.asked), search.asked)
    return None if search.silent.contradict(region) else region


class _Search:
    def __init__(self, evidence: Evidence, ask: Ask, budget: Budget, failure: str, halves: Sequence[Explanation]):
        self.ask, self.budget, self.silent = ask, budget, SilentAnswers(halves)
        self.gathering, self.contradicting = budget.part(GATHERING), budget.part(CONTRADICTING)
        self.failures: tuple[str, ...] = (failure,) if failure else (WRONG,) if evidence.wrong else ()
        self.answers: list[Answer] = []  # that the region is fitted to
        self.asked: list[Answer] = []  # all that were asked for
        self.random = random.Random(0)
        self._fitted: tuple[object, list[Conjunction]] | None = None  # what was known, and what fits it
        self.rejected: Counter[Conjunction] = Counter()  # how often each region was
        self.excused: Counter[Conjunction] = Counter()  # how often right answers inside, and no others, contradicted each region
        self.seen: Counter[str] = Counter()  # the failures of what was asked
        seen = [*evidence.wrong[: MAX_SEEN // 2], *evidence.right[: MAX_SEEN // 2]]
        for call in seen:
            if evidence.wrong and call.operation.dtype == evidence.wrong[0].operation.dtype:
                answer = ask.judge(call)
                if not self.silent.hold(answer):
                    self.answers.append(answer)

    def run(self) -> Region | None:
        """Look for a region in which every answer to ordinary values is wrong; then for one outside of which none is."""
        self._gather()
        for _ in range(MAX_ROUNDS):
            region = self._find_best()
            if region is None or self.contradicting.is_spent():
                break
            if self._contradict(region) and self._find_best() != region:
                continue
            known, refined = len(self.answers), self._refine(region)
            if len(self.answers) > known and self._facts_of(self._find_best() or region) != self._facts_of(region):
                continue  # what was asked for a threshold speaks for another region
            if checked := self._check(refined):
                return checked[0]
            self.rejected[region] += 1
            if refined is not None and self.excused[refined] >= MAX_EXCUSED:
                break
        loose = []
        for region in self._list_loose():
            if self.budget.is_spent():
                break
            if checked := self._check(region, loosely=True):
                loose.append(checked)
        return max(loose, key=lambda found: found[1].failed / found[1].inside)[0] if loose else None

    def _list_loose(self) -> list[Conjunction]:
        """Return the regions to try loosely, first those that right answers inside have contradicted, and no others."""
        fitting = (self._refine(region) for region in self._fit()[:MAX_LOOSE] if region.conditions)
        excused = (region for region, times in self.excused.most_common() if times)
        return list(dict.fromkeys(region for region in (*excused, *fitting) if region and region.conditions))[:MAX_LOOSE]

    def _find_best(self) -> Conjunction | None:
        """Return the best region that has not been rejected too often, None if there is none."""
        return next((c for c in self._fit() if self.rejected[c] < MAX_REJECTED and not self._is_vacuous(c)), None)

    def _fit(self) -> list[Conjunction]:
        """Return the conjunctions that fit all answers, the best first. They are kept until another answer is known."""
        known = (self.failures, len(self.answers), sum(len(answer.shown) for answer in self.answers))
        if self._fitted is None or self._fitted[0] != known:
            failing = list(map(self.fails, self.answers))
            if not any(failing) or self.budget.is_spent():
                return []
            self._fitted = known, fit(self.answers, failing, count=self.budget.meter.add)
        return self._fitted[1]

    def _facts_of(self, region: Conjunction) -> set[Fact]:
        return {condition.fact for condition in region.conditions}

    def _is_vacuous(self, region: Conjunction) -> bool:
        """Whether the region holds everything, although some answers to ordinary values are right."""
        return not region.conditions and any(answer.ordinary and not self.fails(answer) for answer in self.answers)

    def fails(self, answer: Answer) -> bool:
        return answer.failure in self.failures

    def _gather(self) -> None:
        """Ask for the first answers: as laws draw them, small ones, and some that differ from a wrong one in one fact."""
        for number in range(FIRST_ASKED):
            self._add(self._ask(Wish(as_drawn=number % 2 == 0)))
        self._change_failure()
        if failing := next(filter(self.fails, self.answers), None):
            self._ask_each(list_contrasts(self.ask, failing, self.answers))
        if not self._count_seen():  # what failed does not fail in this way again
            self._ask_each(list_scans(self.ask, self.answers))

    def _ask_each(self, wishes: Iterator[Wish]) -> None:
        """Ask for the answers until enough of them fail, or this part of the budget is spent."""
        before = self._count_seen()
        for wish in wishes:
            if self.gathering.is_spent() or self._count_seen() > before + MAX_GATHERED:
                return
            self._add(self._ask(wish))

    def _ask(self, wish: Wish) -> Answer | None:
        """Return the answer to a wish, None if there is none, or if it does not tell where the halves are computed."""
        answer = self.ask(wish)
        if answer is None or self.silent.hold(answer):
            return None
        released = self.silent.release()
        self.answers += released
        self.asked += [*released, answer]
        return answer

    def _add(self, answer: Answer | None) -> None:
        if answer is not None and answer.failure:
            self.seen[answer.failure] += 1
            self.failures = self.failures or (answer.failure,)
        if answer is not None and self._counts(answer):
            self.answers.append(answer)

    def _counts(self, answer: Answer) -> bool:
        """Whether an answer speaks for or against a region: it fails as is looked for, is right, or wrong in place of another."""
        return self.fails(answer) or answer.failure in (RIGHT, WRONG)

    def _count_seen(self) -> int:
        return sum(self.seen[failure] for failure in self.failures)

    def _change_failure(self) -> None:
        """Look also for the failure that was asked for most often, if no wrong value is in what was asked."""
        if self.failures == (WRONG,) and not self.seen[WRONG] and self.seen:
            self.failures = WRONG, self.seen.most_common(1)[0][0]
            for number in range(FIRST_ASKED):
                self._add(self._ask(Wish(as_drawn=number % 2 == 0)))

    def _contradict(self, region: Conjunction) -> bool:
        """Ask for answers that could contradict the region, and add those that do. Return whether any does."""
        contradicted = 0
        for wish in list_probes(self.ask, region, self.answers, self.random):
            if self.contradicting.is_spent():
                break
            answer = self._ask(wish)
            if answer is not None and self._counts(answer) and self._contradicts(region, answer):
                self.answers.append(answer)
                contradicted += 1
                if contradicted > 2:
                    break
        return contradicted > 0

    def _refine(self, region: Conjunction) -> Conjunction | None:
        """Return the region without conditions that hardly an answer speaks for, and with simple numbers as thresholds.

        Return None if no condition is left.
        """
        region = self._shorten_lists(region)
        for condition in region.conditions:
            wider = region.without(condition)
            supporting = (a for a in self.asked if a.ordinary and np.any(wider.covers(a) & ~region.covers(a)))
            if len(list(itertools.islice(supporting, MIN_SUPPORT))) < MIN_SUPPORT:
                if not wider.conditions:
                    return None
                region = wider
        return sharpen(self.ask, region.tidy(), self.answers)

    def _shorten_lists(self, region: Conjunction) -> Conjunction:
        """Return the region without the values of "is not" conditions that hardly an answer speaks for."""
        for condition in region.of_call:
            if condition.kind == "is not" and len(condition.values) > 1:
                others = region.without(condition)
                right = [a for a in self.asked if a.ordinary and not self.fails(a) and np.any(others.covers(a))]
                counts = Counter(repr(a.facts.get(condition.fact)) for a in right)
                kept = tuple(value for value in condition.values if counts[repr(value)] >= MIN_SUPPORT)
                if kept and kept != condition.values:
                    region = others.with_condition(Condition(condition.fact, "is not", kept), of_call=True)
        return region

    def _contradicts(self, region: Conjunction, answer: Answer, *, strict: bool = True) -> bool:
        """Whether an answer is wrong outside of the region. strict: or right inside."""
        inside = region.covers(answer)
        if not self.fails(answer):
            return strict and bool(answer.tells(inside).any())
        outside = (~inside & answer.wrong) if answer.wrong is not None else ~inside
        if outside.any():
            answer.shown.update(np.flatnonzero(outside)[:4].tolist())
        return bool(outside.any())

    def _check(self, region: Conjunction | None, *, loosely: bool = False) -> tuple[Region, Count] | None:
        """Ask for fresh answers on both sides. If the region predicts them, and could not well do so by chance, return it.

        The counts of the fresh answers are returned with it. loosely: answers inside may be right.
        """
        if region is None:
            return None
        fresh = FreshAnswers(region, loosely)
        while not (fresh.is_complete or self.budget.is_spent()):
            wish = fresh.wish_next(self.ask, self.answers, self.random)
            answer = self._ask(wish) if wish else None
            if answer is None:
                continue
            if not self._counts(answer):
                fresh.add_other_failure(answer)
                continue
            if self._contradicts(region, answer, strict=answer.ordinary and not loosely):
                self.answers.append(answer)
                self.excused[region] = 0 if self.fails(answer) else self.excused[region] + 1
                return None
            fresh.add(answer, fails=self.fails(answer))
        if not fresh.is_enough:
            self.answers += fresh.right_inside
            return None
        name, nearly = self.answers[0].call.operation.name, fresh.is_nearly_everywhere
        return build_region(name, region, self.failures, fresh.count, is_nearly_everywhere=nearly), fresh.count
