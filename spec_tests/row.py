"""An example as the row of choices that makes it: printed with a failure, pinned in the files of what is known, played again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .violation import Violation


class NoExample(Exception):
    """The row makes no example of this invariant: it is another's, or of another version of the suite."""


class Row:
    """Stands where Hypothesis's choices do."""

    def __init__(self, numbers: Sequence[int]):
        self.numbers, self.place = numbers, 0

    def draw_integer(self, low: int, high: int) -> int:
        if self.place >= len(self.numbers):
            raise NoExample(f"it ends after {len(self.numbers)} choices, where one more is asked for")
        number = self.numbers[self.place]
        self.place += 1
        if number > high - low:
            raise NoExample(f"its choice {self.place} is {number}, of {high - low + 1}")
        return low + number

    def mark_overrun(self) -> None:
        """Nothing is shrunk here."""


def spelt(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


def read(text: str) -> tuple[int, ...]:
    """ValueError, where the text is no row."""
    if not all(part.isascii() and part.isdigit() for part in text.split(".")):
        raise ValueError("an example is numbers with points between, as a failure prints them")
    return tuple(map(int, text.split(".")))


def replayed(test: Any, trial: Any, numbers: Sequence[int]) -> Violation | None:
    """What this one example shows; NoExample where the row is none."""
    row = Row(numbers)
    try:
        test.replay(trial, row)
    except Violation as violation:
        return violation
    if row.place < len(numbers):
        raise NoExample(f"{len(numbers) - row.place} of its {len(numbers)} choices are left over")
    return None
