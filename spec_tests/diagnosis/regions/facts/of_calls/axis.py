"""The `axis` argument: where it lies, and what lies before it and after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .....calls.call import Call
from ....wish import Wish
from ..fact import Amount, Fact, Flag, Largest

ORDER = 13

OTHER_BATCHES = ((), (2,), (3,), (2, 3), (1, 2), (2, 1), (1, 3, 2), (2, 1, 3), (2, 3, 1), (2, 3, 2))


class _OfAxis(Fact):
    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        found = find_axis(wish.batch, wish.keywords["axis"], self, value) if wish.batch is not None else None
        return found and wish.but(batch=found[0], keywords={"axis": found[1]})


class AxisFlag(_OfAxis, Flag):
    """Whether the axis lies somewhere."""


class AxisAmount(_OfAxis, Amount):
    """How many there are of something beside the axis."""


class DerivedAxisAmount(AxisAmount):
    """How many there are of what is seldom the reason."""

    is_derived = True


NEGATIVE = AxisFlag.of("a negative axis", "where axis is negative", "where axis is not negative")
LAST = AxisFlag.of("the last axis", "where axis is the last one", "where axis is not the last one")
FIRST = AxisFlag.of("the first axis", "where axis is the first one", "where axis is not the first one")
MIDDLE = AxisFlag.of("a middle axis", "where axis is neither the first nor the last", "where axis is the first or the last")
RANK = DerivedAxisAmount.of("axes of the argument", "the argument", "axis", "axes")
BEFORE = DerivedAxisAmount.of("entries before the axis", "the batch before the axis", "entry", "entries")
AFTER = AxisAmount.of("entries after the axis", "the batch after the axis", "entry", "entries")

AXIS_FACTS = (LAST, FIRST, MIDDLE, NEGATIVE, RANK, BEFORE, AFTER)


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of the axis that a call names."""
    if "axis" in call.keywords:
        yield from describe_axis(np.shape(call.named["x"]), call.keywords["axis"]).items()


def describe_axis(shape: Sequence[int], axis: int) -> dict[Fact, Any]:
    """Return the facts of an axis of an argument of this shape."""
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


def find_axis(batch: tuple[int, ...], axis: int, fact: Fact, value: Any) -> tuple[tuple[int, ...], int] | None:
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


def _describe(batch: tuple[int, ...], axis: int) -> dict[Fact, Any]:
    """Return the facts for a batch into which an axis is inserted."""
    place = axis % (len(batch) + 1)
    return describe_axis((*batch[:place], 1, *batch[place:]), axis)
