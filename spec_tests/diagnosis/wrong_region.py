"""Where the answers of a backend are wrong, in one sentence.

The search fits a conjunction of conditions to the answers that are known. It then asks the backend for answers that could
contradict it: on both sides of each boundary, and with other sizes and options. A contradiction is added to the answers, and
the search fits again. A region is said only if it predicts fresh answers on both sides.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from ..calls.call import Call
from .asking import RIGHT, WRONG, Answer, Ask, Wish
from .conjunction import Conjunction
from .evidence import Evidence, wrong_in
from .explanation import Explanation
from .region_fit import fit
from .region_threshold import sharpen
from .region_wishes import list_contrasts, list_probes, list_scans, wish_inside, wish_outside
from .region_words import describe_conditions

MAX_CHANCE = 0.01  # a region that predicts the fresh answers by chance more often is not said

MAX_ROUNDS = 40  # of fitting and contradicting

FRESH = 40  # answers on each side of a region, to check it

MAX_SEEN = 40  # calls of the evidence that the search looks at

MAX_GATHERED = 60  # failures, before the first region is fitted

MIN_WRONG = 3  # fresh answers inside a region

MIN_SHARE = 0.5  # of the answers inside that fail: a region that is right more often than not says little

STRICT_SHARE = 0.9  # the same where all of them should fail: values hide an error seldom, or the region is another

MIN_SUPPORT = 2  # answers to ordinary values with right elements that one condition alone excludes

MAX_REJECTED = 2  # times that one conjunction is tried

MAX_LOOSE = 4  # conjunctions that are tried loosely, when nothing better was found

FIRST_ASKED = 12  # answers to begin with, of each sort

GATHERING, CONTRADICTING = 0.35, 0.75  # shares of the time, after which these steps end


@dataclass(frozen=True)
class Region(Explanation):
    """The explanation that the answers are wrong inside a region, and right outside."""

    inside: Conjunction = field(default_factory=Conjunction)
    failure: str = WRONG
    only: bool = False  # whether some answers inside were right, perhaps since their values hid the error
    says_only: bool = False  # whether this was so for ordinary values: the region then says that all other answers are right

    def covers(self, call: Call) -> bool:
        """Whether an element of the result lies inside. An answer need not be known."""
        return bool(self.inside.covers(Answer(call, self.failure, np.zeros(call.value.size, dtype=bool))).any())


def find_wrong_region(
    evidence: Evidence, *, ask: Ask, deadline: float, failure: str = "", clock: Callable[[], float] = time.monotonic
) -> Region | None:
    """Return where the answers are wrong; None if no region predicts fresh answers.

    `deadline` is the time, as `clock` tells it, at which the search ends. `failure` is what is looked for in place of wrong
    values, such as "the call raised ValueError": see `Answer.failure`. Without it, that is wrong values if the evidence holds
    some, else the first failure found.
    """
    return _Search(evidence, ask, deadline, failure, clock).run()


class _Search:
    def __init__(self, evidence: Evidence, ask: Ask, deadline: float, failure: str, clock: Callable[[], float]):
        self.ask, self.deadline, self.start, self.clock = ask, deadline, clock(), clock
        self.failure = failure or (WRONG if evidence.wrong else "")
        self.answers: list[Answer] = []  # that the region is fitted to
        self.asked: list[Answer] = []  # all that were asked for
        self.random = random.Random(0)
        self.seen: Counter[str] = Counter()  # the failures of what was asked
        seen = [*evidence.wrong[: MAX_SEEN // 2], *evidence.right[: MAX_SEEN // 2]]
        for call in seen:
            if evidence.wrong and call.operation.dtype == evidence.wrong[0].operation.dtype:
                self.answers.append(ask.judge(call))

    def run(self) -> Region | None:
        """Look for a region in which every answer to ordinary values is wrong; then for one outside of which none is."""
        self._gather()
        rejected: Counter[Conjunction] = Counter()
        for _ in range(MAX_ROUNDS):
            region = next((c for c in self._fit() if rejected[c] < MAX_REJECTED and not self._is_vacuous(c)), None)
            if region is None or self._has_spent(CONTRADICTING):
                break
            if not self._contradict(region):
                known, refined = len(self.answers), self._refine(region)
                if len(self.answers) > known and self._facts_of(next(iter(self._fit()), region)) != self._facts_of(region):
                    continue  # what was asked for a threshold speaks for another region
                if checked := self._check(refined):
                    return checked
            rejected[region] += 1
        for region in [c for c in self._fit() if c.conditions][:MAX_LOOSE]:
            if self._is_late:
                break
            if checked := self._check(self._refine(region), loosely=True):
                return checked
        return None

    def _fit(self) -> list[Conjunction]:
        failing = list(map(self.fails, self.answers))
        return fit(self.answers, failing) if any(failing) and not self._is_late else []

    def _facts_of(self, region: Conjunction) -> set[str]:
        return {condition.fact for condition in region.conditions}

    def _is_vacuous(self, region: Conjunction) -> bool:
        """Whether the region holds everything, although some answers to ordinary values are right."""
        return not region.conditions and any(answer.ordinary and not self.fails(answer) for answer in self.answers)

    @property
    def _is_late(self) -> bool:
        return self.clock() > self.deadline

    def _has_spent(self, share: float) -> bool:
        """Whether this share of the time is over."""
        return self.clock() > self.start + share * (self.deadline - self.start)

    def fails(self, answer: Answer) -> bool:
        return bool(answer.failure) and answer.failure == self.failure

    def _gather(self) -> None:
        """Ask for the first answers: as laws draw them, small ones, and some that differ from a wrong one in one fact."""
        for number in range(FIRST_ASKED):
            self._add(self._ask(Wish(as_drawn=number % 2 == 0)))
        self._change_failure()
        if failing := next(filter(self.fails, self.answers), None):
            self._ask_each(list_contrasts(self.ask, failing, self.answers))
        if not self.seen[self.failure]:  # what failed does not fail in this way again
            self._ask_each(list_scans(self.ask, self.answers))

    def _ask_each(self, wishes: Iterator[Wish]) -> None:
        """Ask for the answers until enough of them fail, or this part of the time is over."""
        before = self.seen[self.failure]
        for wish in wishes:
            if self._has_spent(GATHERING) or self.seen[self.failure] > before + MAX_GATHERED:
                return
            self._add(self._ask(wish))

    def _ask(self, wish: Wish) -> Answer | None:
        answer = self.ask(wish)
        if answer is not None:
            self.asked.append(answer)
        return answer

    def _add(self, answer: Answer | None) -> None:
        if answer is not None and answer.failure:
            self.seen[answer.failure] += 1
            self.failure = self.failure or answer.failure
        if answer is not None and answer.failure in (RIGHT, self.failure):
            self.answers.append(answer)

    def _change_failure(self) -> None:
        """Look for the failure that was asked for most often, if what is looked for does not occur in what was asked."""
        if self.failure == WRONG and not self.seen[WRONG] and self.seen:
            self.failure = self.seen.most_common(1)[0][0]
            self.answers = [answer for answer in self.answers if not answer.failure]
            for number in range(FIRST_ASKED):
                self._add(self._ask(Wish(as_drawn=number % 2 == 0)))

    def _contradict(self, region: Conjunction) -> bool:
        """Ask for answers that could contradict the region, and add those that do. Return whether any does."""
        contradicted = 0
        for wish in list_probes(self.ask, region, self.answers, self.random):
            if self._has_spent(CONTRADICTING):
                break
            answer = self._ask(wish)
            if answer is not None and answer.failure in (RIGHT, self.failure) and self._contradicts(region, answer):
                self.answers.append(answer)
                contradicted += 1
                if contradicted > 2:
                    break
        return contradicted > 0

    def _refine(self, region: Conjunction) -> Conjunction | None:
        """Return the region without conditions that hardly an answer speaks for, and with simple numbers as thresholds.

        Return None if no condition is left.
        """
        for condition in region.conditions:
            wider = region.without(condition)
            supporting = (a for a in self.asked if a.ordinary and np.any(wider.covers(a) & ~region.covers(a)))
            if len(list(itertools.islice(supporting, MIN_SUPPORT))) < MIN_SUPPORT:
                if not wider.conditions:
                    return None
                region = wider
        return sharpen(self.ask, region.tidy(), self.answers)

    def _contradicts(self, region: Conjunction, answer: Answer, *, strict: bool = True) -> bool:
        """Whether an answer is wrong outside of the region. strict: or right inside."""
        inside = region.covers(answer)
        if not self.fails(answer):
            return strict and bool(inside.any())
        outside = (~inside & answer.wrong) if answer.wrong is not None else ~inside
        if outside.any():
            answer.shown.update(np.flatnonzero(outside)[:4].tolist())
        return bool(outside.any())

    def _check(self, region: Conjunction | None, *, loosely: bool = False) -> Region | None:
        """Ask for fresh answers on both sides. Return the region if it predicts them, and could not well do so by chance.

        loosely: answers inside may be right.
        """
        if region is None:
            return None
        inside = outside = wrong = 0
        right_inside = []
        for number in range(2 * FRESH):
            wish = (wish_inside if number % 2 else wish_outside)(self.ask, region, self.answers, self.random)
            if self._is_late:
                break
            answer = self._ask(wish) if wish else None
            if answer is None or answer.failure not in (RIGHT, self.failure):
                continue
            if self._contradicts(region, answer, strict=answer.ordinary and not loosely):
                self.answers.append(answer)
                return None
            covered = region.covers(answer)
            inside, outside = inside + bool(covered.any()), outside + bool((~covered).any())
            wrong += self.fails(answer)
            if covered.any() and not self.fails(answer):
                right_inside.append(answer)
        chance = math.comb(inside, wrong) / math.comb(inside + outside, wrong) if region.conditions else 0.0
        if wrong < max(MIN_WRONG, (MIN_SHARE if loosely else STRICT_SHARE) * inside) or chance > MAX_CHANCE:
            self.answers += right_inside
            return None
        return self._build(region, inside, outside, wrong, loosely or any(answer.ordinary for answer in right_inside))

    def _build(self, region: Conjunction, inside: int, outside: int, wrong: int, says_only: bool) -> Region:
        words, wrong_word = (
            describe_conditions(region.of_call, region.of_element),
            "wrong" if self.failure == WRONG else self.failure,
        )
        what = f"{wrong_word}{' only' if says_only else ''} {words}"
        fails = "are wrong" if self.failure == WRONG else "fail so"
        fresh = f"{wrong} of {inside} fresh calls inside {fails}, 0 of {outside} outside"
        if not region.conditions:
            fresh = f"{wrong} of {inside} fresh calls {fails}"
        operation, only = self.answers[0].call.operation.name, wrong < inside
        what_it_is = ("region", f"region: {words}", what, operation, _predict(region, only))
        return Region(*what_it_is, facts=(("asked", fresh),), inside=region, failure=self.failure, only=only, says_only=says_only)


def _predict(region: Conjunction, only: bool) -> Callable[[Call], bool | None]:
    """Return what says whether an answer is wrong just inside the region."""

    def predicts(call: Call) -> bool | None:
        if call.observed is None:
            return None
        answer = Answer(call, WRONG, np.ravel(wrong_in(call)))
        inside, wrong = region.covers(answer), answer.wrong
        assert wrong is not None
        if np.any(wrong & ~inside):
            return False
        if np.any(inside) and not np.any(wrong):
            return None if only else False
        return True

    return predicts
