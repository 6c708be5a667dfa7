"""The example that a cause is shown with: the smallest of a fixed list that fails, so that it is the same whatever the seed.

The list holds the simplest examples of a law. All are drawn first, without a call of the backend, and are then tried in the order
of their size: elements, then values that are not finite, then digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

import numpy as np

from ..calls.call import Call
from ..specification.pytree import leaves
from .reducing import MIN_SEED_RANGE

CANDIDATES = 256
CHANCES = (0.08, 0.15, 0.25, 0.4)  # that a choice of a candidate is not the simplest one, in turn
NEXT_SIMPLEST = 2  # half of those that are not the simplest are among so many that follow it
MAX_DIGITS_OF = 256  # elements; the digits of more are not counted

Size = tuple[float, int, int]  # elements, values that are not finite, digits

LARGEST: Size = (math.inf, 0, 0)


class SimpleChoices:
    """A source of choices most of which are the simplest of their ranges. Which are not depends on the number alone."""

    def __init__(self, number: int):
        self.random, self.chance = Random(number), CHANCES[number % len(CHANCES)]

    def draw_integer(self, low: int, high: int) -> int:
        if high - low >= MIN_SEED_RANGE:
            return self.random.randint(low, high)
        if self.random.random() >= self.chance:
            return low
        return self.random.randint(low, min(high, low + NEXT_SIMPLEST) if self.random.random() < 1 / 2 else high)

    def mark_overrun(self) -> None:
        """Do nothing: the example is drawn alone, or is too large."""


def size_of(calls: Iterable[Call]) -> Size:
    """Return by what examples are ordered, the smallest first."""
    elements = not_finite = digits = 0
    for call in calls:
        elements += call.size
        for _, x in leaves(call.named):
            values = np.ravel(np.asarray(getattr(x, "value", x)))
            if values.dtype.kind == "f":
                not_finite += int(np.sum(~np.isfinite(values)))
            if values.dtype.kind in "fiu" and values.size <= MAX_DIGITS_OF:
                digits += sum(len(f"{value:.17g}") for value in values.tolist())
    return elements, not_finite, digits


def find_smallest(
    shown: Size, survey: Callable[[Any], Size | None], fails: Callable[[Any], bool], is_spent: Callable[[], bool]
) -> bool:
    """Try the candidates that are smaller than the example that is shown, the smallest first. Return whether one fails.

    survey: draws an example up to its first call, and returns its size so far, None if there is no call. fails: tries an example.
    """
    for number in order_candidates(shown, map(survey, map(SimpleChoices, range(CANDIDATES)))):
        if is_spent():
            return False
        if fails(SimpleChoices(number)):
            return True
    return False


def order_candidates(shown: Size, sizes: Iterable[Size | None]) -> Sequence[int]:
    """Return the numbers of the candidates that are smaller than what is shown, in the order of their sizes."""
    smaller = [(size, number) for number, size in enumerate(sizes) if size is not None and size < shown]
    return [number for _, number in sorted(smaller)]
