"""Check a region of wrong answers on calls that its search has not seen."""

from __future__ import annotations

import random
from collections.abc import Iterator

from spec_tests.diagnosis.asking import WRONG, Answer, Wish
from spec_tests.diagnosis.region import Region
from spec_tests.diagnosis.region_wishes import wish_inside, wish_outside
from spec_tests.trials.asker import Asker


def mispredicts(region: Region, answer: Answer) -> bool:
    """Whether an answer fails outside of the region, or, if its values are ordinary, does not fail inside.

    A region tells how the answers inside fail. It says nothing about calls outside that fail in another way, and a region of
    wrong values nothing about calls without values.
    """
    inside = region.inside.covers(answer)
    if answer.failure and answer.failure not in region.failures:
        return answer.failure == WRONG and bool(inside.any()) and not region.says_only
    if answer.failure:
        return bool((~inside & answer.wrong).any() if answer.wrong is not None else not inside.any())
    return bool(inside.any()) and answer.ordinary and not region.says_only


def ask_fresh(region: Region, ask: Asker, count: int, seed: object) -> Iterator[Answer]:
    """Yield fresh answers: some as laws draw them, some small ones, and some on both sides of the region's boundary."""
    source, failing = random.Random(str(seed)), list[Answer]()
    for number in range(count):
        wish: Wish | None = Wish(as_drawn=number % 4 == 0)
        if number % 4 > 1 and failing:
            wish = (wish_inside if number % 4 == 2 else wish_outside)(ask, region.inside, failing, source)
        answer = ask(wish) if wish else None
        if answer is not None:
            failing += [answer] if answer.failure else []
            yield answer
