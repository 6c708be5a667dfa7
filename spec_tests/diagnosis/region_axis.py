"""The facts of an `axis` argument, and the shapes in which one of them is another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LAST, FIRST, MIDDLE, NEGATIVE = "the last axis", "the first axis", "a middle axis", "a negative axis"

RANK = "axes of the argument"

BEFORE, AFTER = "entries before the axis", "entries after the axis"  # the products of the sizes of these axes

AXIS_FACTS = (LAST, FIRST, MIDDLE, NEGATIVE, RANK, BEFORE, AFTER)

OTHER_BATCHES = ((), (2,), (3,), (2, 3), (1, 2), (2, 1), (1, 3, 2), (2, 1, 3), (2, 3, 1), (2, 3, 2))


def describe_axis(shape: Sequence[int], axis: int) -> dict[str, Any]:
    """Return the facts of the axis that a call names, for an argument of this shape."""
    rank = len(shape)
    place = axis % rank
    return {
        NEGATIVE: axis < 0,
        LAST: place == rank - 1,
        FIRST: place == 0,
        MIDDLE: 0 < place < rank - 1,
        RANK: rank,
        BEFORE: math.prod(shape[:place]),
        AFTER: math.prod(shape[place + 1 :]),
    }


def find_axis(batch: tuple[int, ...], axis: int, fact: str, value: Any) -> tuple[tuple[int, ...], int] | None:
    """Return the batch and the axis most like these of which the fact has this value, None if none is found.

    The batch is the shape of the argument without the axis.
    """
    now = _describe(batch, axis)
    batches = [batch, *OTHER_BATCHES]
    if fact in (BEFORE, AFTER):
        batches += [(*one[:i], int(value), *one[i + 1 :]) for one in (batch, *OTHER_BATCHES[1:5]) for i in range(len(one))]
    known = [(one, place, _describe(one, place)) for one in batches for place in range(-len(one) - 1, len(one) + 1)]
    fitting = [(one, place, facts) for one, place, facts in known if facts[fact] == value]
    if not fitting:
        return None
    chosen = max(fitting, key=lambda found: sum(found[2][name] == now[name] for name in AXIS_FACTS))
    return chosen[0], chosen[1]


def _describe(batch: tuple[int, ...], axis: int) -> dict[str, Any]:
    """Return the facts for a batch into which an axis is inserted."""
    place = axis % (len(batch) + 1)
    return describe_axis((*batch[:place], 1, *batch[place:]), axis)
