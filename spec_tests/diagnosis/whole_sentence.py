"""Join what is computed in place of the equation, which explains all wrong answers but also some right ones, with where it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from ..calls.call import Call
from .asking import WRONG, Answer
from .evidence import wrong_in
from .explanation import Explanation
from .region import Region

MIN_EXPLAINED = 8  # wrong answers inside of a region, each of which is that of the explanation
MAX_EXPLAINED = 40


def make_whole(region: Region, halves: Sequence[Explanation], answers: Iterable[Answer]) -> Region:
    """Return the region with the sentence of the first explanation of which every wrong answer inside is one, else as it is.

    answers: what was asked for the region.
    """
    if region.failures != (WRONG,) or region.inside.of_element:
        return region
    wrong = [answer.call for answer in islice((a for a in answers if a.failure == WRONG), MAX_EXPLAINED)]
    if len(wrong) < MIN_EXPLAINED:
        return region
    for half in halves:
        if all(half.predicts(call) for call in wrong):
            words = region.what.removeprefix(f"{WRONG} ")
            what, identity = f"{half.what} {words}", f"{half.id} {region.id.removeprefix('region: ')}"
            facts, predicts = (*half.facts, *region.facts), _both(region, half)
            return replace(region, id=identity, what=what, predicts=predicts, facts=facts, is_whole=True)
    return region


def _both(region: Region, half: Explanation) -> Callable[[Call], bool | None]:
    """Return what says whether an answer is that of the explanation inside of the region, and right outside."""

    def predicts(call: Call) -> bool | None:
        told = region.predicts(call)
        return half.predicts(call) if told and np.any(wrong_in(call)) else told

    return predicts
