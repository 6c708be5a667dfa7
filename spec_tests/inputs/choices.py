"""An example as a sequence of integer choices: drawn, written down, and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from . import effort

BEYOND_CONSTANTS = 3 << 90  # Hypothesis draws some integers from the constants of whatever modules are loaded

Choose = Callable[[int, int], int]


class Choices:
    def __init__(self, choose: Choose, log: list[Any]):
        self._choose, self.log = choose, log

    def one_of(self, values: Iterable[Any]) -> Any:
        """The first is the plainest: shrinking ends there."""
        values = tuple(values)
        chosen = values[0 if len(values) == 1 else self._index(0, len(values) - 1)]
        self.log.append(chosen)
        return chosen

    def integer(self, low: int, high: int) -> int:
        chosen = self._index(low, high)
        self.log.append(chosen)
        return chosen

    def _index(self, low: int, high: int) -> int:
        return self._choose(BEYOND_CONSTANTS + low, BEYOND_CONSTANTS + high) - BEYOND_CONSTANTS


def shape_choices(operation: str, random: Random) -> Choose | None:
    """What chooses the shapes of an example where an operation may have few: one of so many rows, the same for every invariant,
    for the gradient, and in every run, so that what was compiled for one is there for the others. None where shapes are free."""
    if (many := effort.shape_count()) is None:
        return None
    row = Random(f"{operation.removesuffix('_vjp')} {random.randrange(many)}")

    def choose(low: int, high: int) -> int:
        """By one random number, whatever it is between: so invariants whose dimensions may differ agree on most."""
        return low + int(row.random() * (high - low + 1))

    return choose


class NoExample(Exception):
    """The row makes no example of this invariant: it is another's, or of another version of the suite."""


class ReplayedChoices:
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


def format_choices(numbers: Sequence[int]) -> str:
    return ".".join(map(str, numbers))


def parse_choices(text: str) -> tuple[int, ...]:
    """ValueError, where the text is no row."""
    if not all(part.isascii() and part.isdigit() for part in text.split(".")):
        raise ValueError("an example is numbers with points between, as a failure prints them")
    return tuple(map(int, text.split(".")))
