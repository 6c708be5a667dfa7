"""Join what is computed in place of the equation, which explains all wrong answers but also some right ones, with where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ...calls.call import Call
from ..evidence import answer_of, wrong_in
from ..explanation import Explanation
from .asking import RIGHT, WRONG, Answer
from .conjunction import Conjunction
from .facts.of_elements.parts import GRADIENT, RESULT
from .region import Count, Region, build_region

MIN_EXPLAINED = 8  # wrong answers inside of a region, each of which is that of the explanation
MAX_EXPLAINED = 40


class SilentAnswers:
    """The right answers that every half gives as well: they do not tell where one of them is computed.

    A half that a wrong answer is not one of is dropped. Without halves every answer tells something.
    """

    def __init__(self, halves: Sequence[Explanation]):
        self.halves = list(halves)
        self._answers: list[Answer] = []
        self._explained = 0

    def hold(self, answer: Answer) -> bool:
        """Whether an answer is silent. If it is, it is kept."""
        if answer.failure == WRONG and self.halves and self._explained < MAX_EXPLAINED:
            self._explained += 1
            self.halves = [half for half in self.halves if half.predicts(answer.call)]
        if answer.failure != RIGHT or not self.halves or not all(half.predicts(answer.call) for half in self.halves):
            return False
        self._answers.append(answer)
        return True

    def release(self) -> list[Answer]:
        """Return the answers that tell something once there are no halves, each of them once."""
        released, self._answers = ([], self._answers) if self.halves else (self._answers, [])
        return released

    def contradict(self, region: Region) -> bool:
        """Whether one of the answers to ordinary values lies inside of a region that does not say what is computed there."""
        ordinary = (answer for answer in self._answers if answer.ordinary)  # other values hide an error often
        return not region.is_whole and any(answer.tells(region.inside.covers(answer)).any() for answer in ordinary)


def make_whole(region: Region, halves: Sequence[Explanation], answers: Iterable[Answer]) -> Region:
    """Return the region with the sentence of the first explanation of which every wrong answer inside is one, else as it is.

    What is computed says in which elements it shows: conditions on elements are dropped if it holds of all answers without them.
    answers: what was asked for the region.
    """
    asked = list(answers)
    wrong = [answer.call for answer in asked if answer.failure == WRONG][:MAX_EXPLAINED]
    if region.failures != (WRONG,) or len(wrong) < MIN_EXPLAINED or not (plain := _of_calls(region, asked)).inside.conditions:
        return region
    for half in halves:
        if all(half.predicts(call) for call in wrong) and (plain is region or _holds_of_all(plain, half, asked)):
            words = plain.what.removeprefix(f"{WRONG} ")
            what, identity = f"{half.what}, {words}", f"{half.id} {plain.id.removeprefix('region: ')}"
            facts, predicts = (*half.facts, *plain.facts), _both(plain, half)
            return replace(plain, id=identity, what=what, predicts=predicts, facts=facts, is_whole=True)
    return region


def _of_calls(region: Region, asked: Sequence[Answer]) -> Region:
    """Return the region without conditions on elements, but for those that name a result."""
    kept = tuple(condition for condition in region.inside.of_element if condition.fact in (GRADIENT, RESULT))
    if kept == region.inside.of_element:
        return region
    inside, count = Conjunction(region.inside.of_call, kept), Count()
    for answer in asked:
        is_inside = bool(inside.covers(answer).any())
        count = count.add(inside=is_inside, outside=not is_inside, fails=answer.failure == WRONG)
    return build_region(region.operation, inside, region.failures, count)


def _holds_of_all(region: Region, half: Explanation, asked: Sequence[Answer]) -> bool:
    """Whether every answer inside of the region is one of the explanation, and every other one is right."""
    told = [answer for answer in asked if answer.failure in (RIGHT, WRONG) and answer.wrong is not None]
    inside = [answer for answer in told if region.inside.covers(answer).any()]
    others = len(told) - len(inside)
    is_right = sum(answer.failure == RIGHT for answer in told) - sum(answer.failure == RIGHT for answer in inside)
    return others == is_right and all(half.predicts(answer.call) is not False for answer in inside[:MAX_EXPLAINED])


def say_what_is_seen(region: Region, answers: Iterable[Answer]) -> Region:
    """Return the region of wrong answers with what stands in their place, if it is always the same: NaN, or 0."""
    if region.failures != (WRONG,) or region.is_whole:
        return region
    seen = [np.ravel(answer_of(answer.call))[answer.wrong] for answer in answers if _shows_wrong(answer)]
    for word, is_seen in (("NaN", np.isnan), ("0", lambda x: x == 0)):
        if len(seen) >= MIN_EXPLAINED and all(is_seen(x).all() for x in seen):
            return replace(region, what=f"wrong elements are {word}, {region.what.removeprefix(f'{WRONG} ')}", seen=word)
    return region


def _shows_wrong(answer: Answer) -> bool:
    return answer.failure == WRONG and answer.wrong is not None and answer.call.observed is not None


def _both(region: Region, half: Explanation) -> Callable[[Call], bool | None]:
    """Return what says whether an answer is that of the explanation inside of the region, and right outside."""

    def predicts(call: Call) -> bool | None:
        told = region.predicts(call)
        return half.predicts(call) if told and np.any(wrong_in(call)) else told

    return predicts
