"""Make a failing example small before Hypothesis shrinks it: set each of its choices to the simplest one, in turn.

Hypothesis tries hundreds of variants, and sizes are not the first that it makes smaller. While the arrays are large, each variant
costs so much that the budget is spent before they are small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

MAX_PASSES = 3  # over the choices of an example: a later choice may allow an earlier one

MIN_SEED_RANGE = 2**16  # a choice among so many is the seed of random values, of which none is simpler than another

OTHER_SEEDS = 4  # tried where a simpler choice does not fail with the same values


class ReducedChoices:
    """A source of choices that replays numbers. What is None, or is missing at the end, is the lowest number of its range.

    A number outside of its range is the nearest in it: other ranges may belong to the choices after a changed one. With
    `source`, seeds are random instead.
    """

    def __init__(self, given: Sequence[int | None], source: Random | None = None):
        self.given, self.source, self.numbers = given, source, list[int]()
        self.is_simplest = list[bool]()  # for each number, whether no other of its range is simpler
        self.has_seeds = False

    def draw_integer(self, low: int, high: int) -> int:
        place, is_seed = len(self.numbers), high - low >= MIN_SEED_RANGE
        number = self.given[place] if place < len(self.given) else None
        if is_seed and self.source is not None:
            number = self.source.randint(low, high)
        self.numbers.append(low if number is None else min(max(low, number), high))
        self.is_simplest.append(is_seed or self.numbers[-1] == low)
        self.has_seeds |= is_seed
        return self.numbers[-1]

    def mark_overrun(self) -> None:
        """Do nothing: the call that the budget did not allow ends the search."""


def reduce_choices(
    numbers: Sequence[int], fails: Callable[[ReducedChoices], bool], is_spent: Callable[[], bool]
) -> Sequence[int] | None:
    """Return the numbers of the smallest example found that fails, None if the given ones do not fail again.

    `fails` tries an example, and tells whether it fails in the same way. Once `is_spent` returns True, no other is tried.
    """
    current, source = ReducedChoices(numbers), Random(0)
    if not fails(current):
        return None
    for _ in range(MAX_PASSES):
        before, place = current.numbers, 0
        while place < len(current.numbers):
            if not current.is_simplest[place]:
                given: list[int | None] = [*current.numbers]
                given[place] = None
                for attempt in range(1 + OTHER_SEEDS * current.has_seeds):
                    if is_spent():
                        return current.numbers
                    tried = ReducedChoices(given, source if attempt else None)
                    if fails(tried):
                        current = tried
                        break
            place += 1
        if current.numbers == before:
            break
    return current.numbers
