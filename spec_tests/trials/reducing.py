"""Make a failing example small before Hypothesis shrinks it: set each of its choices to the simplest one, in turn.

Hypothesis tries hundreds of variants, and sizes are not the first that it makes smaller. While the arrays are large, each variant
takes so long that the time ends before they are small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

MAX_PASSES = 3  # over the choices of an example: a later choice may allow an earlier one


class ReducedChoices:
    """A source of choices that replays numbers. What is None, or is missing at the end, is the lowest number of its range.

    A number outside of its range is the nearest in it: other ranges may belong to the choices after a changed one.
    """

    def __init__(self, given: Sequence[int | None]):
        self.given, self.numbers = given, list[int]()
        self.lowest = list[bool]()  # whether each number is the lowest of its range

    def draw_integer(self, low: int, high: int) -> int:
        place = len(self.numbers)
        number = self.given[place] if place < len(self.given) else None
        self.numbers.append(low if number is None else min(max(low, number), high))
        self.lowest.append(self.numbers[-1] == low)
        return self.numbers[-1]

    def mark_overrun(self) -> None:
        """Do nothing: the call that was out of time ends the search."""


def reduce_choices(
    numbers: Sequence[int], fails: Callable[[ReducedChoices], bool], has_time: Callable[[], bool]
) -> Sequence[int]:
    """Return the numbers of the smallest example found that fails. They are the given ones if these do not fail again.

    `fails` tries an example, and tells whether it fails in the same way.
    """
    current = ReducedChoices(numbers)
    if not fails(current):
        return numbers
    for _ in range(MAX_PASSES):
        before = current.numbers
        place = 0
        while place < len(current.numbers):
            if not has_time():
                return current.numbers
            if not current.lowest[place]:
                given: list[int | None] = [*current.numbers]
                given[place] = None
                tried = ReducedChoices(given)
                current = tried if fails(tried) else current
            place += 1
        if current.numbers == before:
            break
    return current.numbers
