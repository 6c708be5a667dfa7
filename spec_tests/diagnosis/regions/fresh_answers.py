"""The fresh answers on which a region of wrong answers is checked: which are asked for, and how many must fail."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..wish import Wish
from .asking import Answer, Ask
from .condition import Condition
from .conjunction import Conjunction
from .region import Count
from .wishes import wish_inside, wish_outside

FRESH = 180  # answers on each side of a region, to check it: one of sixty is wrong outside of a region that is nearly right

MAX_ASKED = 3 * FRESH  # as long as those inside do not decide whether most fail

PLAIN_PERIOD = 3  # every so many fresh answers one is to a call as laws draw them, or to a small one, on whichever side it is

MIN_FRESH = 8  # of them that must be answered on each side

MIN_OUTSIDE_SHARE = 1 / 4  # of the answers inside; a region that holds nearly all calls, some of them right, tells nothing

MIN_ALONE = 4  # answers to calls that break one condition and meet the others; fewer may be right by chance

MAX_ASKED_ALONE = 40  # calls, until MIN_ALONE are answered

NEARLY_ALL = 0.9  # of the calls that laws draw: a region that holds so many of them is said to be nearly everywhere

MIN_WRONG = 3  # fresh answers inside a region

STRICT_SHARE = 0.9  # of the answers inside, where all should fail: values hide an error seldom, or the region is another

MAX_CHANCE = 0.01  # a region that predicts the fresh answers by chance more often is not said


@dataclass
class FreshAnswers:
    """The fresh answers to calls on both sides of a region. None of them contradicts it.

    loosely: answers inside may be right.
    """

    region: Conjunction
    loosely: bool
    count: Count = field(default_factory=Count)
    right_inside: list[Answer] = field(default_factory=list)
    alone: Counter[Condition] = field(default_factory=Counter)  # how many answers are outside by this condition alone
    plain: Count = field(default_factory=Count)  # of the answers to plain calls, without right ones to strange values
    drawn: Count = field(default_factory=Count)  # of the answers to calls as laws draw them
    others: Count = field(default_factory=Count)  # of the answers that fail in another way than the region says
    asked: int = 0
    is_plain: bool = False  # whether the last wish was for a plain call
    is_drawn: bool = False  # whether that was one as laws draw it

    def wish_next(self, ask: Ask, known: Sequence[Answer], source: random.Random) -> Wish | None:
        """Return the wish for the next answer, None if there is none."""
        number = self.asked
        self.asked += 1
        self.is_plain = self.is_drawn = False
        if number >= 2 * FRESH:
            untested = self._list_untested()
            return (
                wish_outside(ask, self.region, known, source, untested) if untested else self._wish(ask, known, source, number=1)
            )
        return self._wish(ask, known, source, number)

    def _wish(self, ask: Ask, known: Sequence[Answer], source: random.Random, number: int) -> Wish | None:
        self.is_plain = number % PLAIN_PERIOD == 0
        if not self.is_plain:
            return (wish_inside if number % 2 else wish_outside)(ask, self.region, known, source)
        self.is_drawn = number % (2 * PLAIN_PERIOD) == 0
        return Wish(as_drawn=self.is_drawn)

    def add(self, answer: Answer, *, fails: bool) -> None:
        """Count an answer that does not contradict the region."""
        covered = answer.tells(self.region.covers(answer))
        self.count = self.count.add(inside=bool(covered.any()), outside=bool((~covered).any()), fails=fails)
        if covered.any() and not fails:
            self.right_inside.append(answer)
        if self.is_plain and (fails or answer.ordinary):
            self.plain = self.plain.add(inside=bool(covered.any()), outside=bool((~covered).any()), fails=fails)
        if self.is_drawn:
            self.drawn = self.drawn.add(inside=bool(covered.any()), outside=not covered.any(), fails=fails)
        violated = [c for c in self.region.of_call if not c.holds(answer.facts.get(c.fact))]
        if answer.ordinary and len(violated) == 1:
            self.alone[violated[0]] += 1

    def add_other_failure(self, answer: Answer) -> None:
        """Count an answer that fails in another way than the region says."""
        is_inside = bool(self.region.covers(answer).any())
        self.others = self.others.add(inside=is_inside, outside=not is_inside, fails=True)

    @property
    def is_complete(self) -> bool:
        """Whether enough was asked to decide."""
        if self.asked < 2 * FRESH:
            return False
        if self._list_untested():
            return self.asked >= 2 * FRESH + MAX_ASKED_ALONE
        is_open = self.loosely and 2 * self.count.failed > self.count.inside and not _is_majority(self.count)
        return not is_open or self.asked >= MAX_ASKED

    def _list_untested(self) -> list[Condition]:
        """Return the conditions that too few right answers speak for."""
        conditions = self.region.of_call if len(self.region.conditions) > 1 else ()
        return [condition for condition in conditions if self.alone[condition] < MIN_ALONE]

    @property
    def is_nearly_everywhere(self) -> bool:
        """Whether the region holds nearly all calls that laws draw, with all of their elements."""
        seen = self.drawn.inside + self.drawn.outside
        return not self.region.of_element and seen >= MIN_FRESH and self.drawn.inside >= NEARLY_ALL * seen

    @property
    def is_enough(self) -> bool:
        """Whether enough answers inside fail, and as many as chance hardly picks among all.

        loosely: more than half of those inside must fail, by so much that chance hardly explains it. At least half of those to
        plain calls must fail: the other calls resemble the wrong answers that are known.
        """
        count = self.count
        if 2 * self.plain.failed < self.plain.inside:
            return False
        enough = _is_majority(count) if self.loosely else count.failed >= STRICT_SHARE * count.inside
        if count.failed < MIN_WRONG or not enough:
            return False
        if not self.region.conditions:
            return count.inside >= FRESH
        if min(count.inside, count.outside) < MIN_FRESH or self._list_untested():
            return False
        # Most calls on one side fail in another way, which the region would not tell.
        if self.others.outside > count.outside or self.others.inside > count.failed:
            return False
        if self.loosely and count.outside < MIN_OUTSIDE_SHARE * count.inside:
            return False
        return math.comb(count.inside, count.failed) <= MAX_CHANCE * math.comb(count.inside + count.outside, count.failed)


def _is_majority(count: Count) -> bool:
    """Whether more than half fail: chance would hardly make so many fail if each failed with probability 1/2."""
    as_many = sum(math.comb(count.inside, n) for n in range(count.failed, count.inside + 1))
    return as_many <= MAX_CHANCE * 2**count.inside
