"""Check a region of wrong answers on calls that its search has not seen."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

import numpy as np

from spec_tests.calls.call import Call
from spec_tests.diagnosis.regions.asking import RIGHT, Answer
from spec_tests.diagnosis.regions.region import Region
from spec_tests.diagnosis.regions.wishes import wish_inside, wish_outside
from spec_tests.diagnosis.wish import Wish
from spec_tests.trials.asker import Asker


def count_mispredicted(region: Region, answers: Iterable[Answer]) -> int:
    """Return how many answers fail outside of the region. Those that are right inside are added if most of them are.

    A region tells how the answers inside fail. It says nothing about calls outside that fail in another way. Right answers inside
    count only if their values are ordinary: others may hide the error.
    """
    known = [(answer, region.inside.covers(answer)) for answer in answers]
    outside = sum(_fails_outside(region, answer, inside) for answer, inside in known)
    inside_of_it = [answer for answer, inside in known if inside.any()]
    right = sum(answer.failure == RIGHT and answer.ordinary for answer in inside_of_it)
    failing = sum(answer.failure in region.failures for answer in inside_of_it)
    return outside + (right if right > failing else 0)


def _fails_outside(region: Region, answer: Answer, inside: np.ndarray) -> bool:
    if answer.failure not in region.failures:
        return False
    return bool((~inside & answer.wrong).any() if answer.wrong is not None else not inside.any())


def ask_fresh(region: Region, ask: Asker, count: int, seed: object, known: Iterable[Call] = ()) -> Iterator[Answer]:
    """Yield fresh answers: some as laws draw them, some small ones, and some on both sides of the region's boundary.

    known: calls that were answered wrongly. Those on both sides of the boundary resemble them.
    """
    asked = ask.operation.name, ask.operation.dtype
    own = (call for call in known if (call.operation.name, call.operation.dtype) == asked)
    source, failing = random.Random(str(seed)), [answer for answer in map(ask.judge, own) if answer.failure]
    for number in range(count):
        wish: Wish | None = Wish(as_drawn=number % 4 == 0)
        if number % 4 > 1 and failing:
            wish = (wish_inside if number % 4 == 2 else wish_outside)(ask, region.inside, failing, source)
        answer = ask(wish) if wish else None
        if answer is not None:
            failing += [answer] if answer.failure else []
            yield answer
