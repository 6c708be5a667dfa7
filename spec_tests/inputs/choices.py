"""An example as a sequence of integer choices, which can be drawn, printed and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from ..specification.run_settings import current_settings

# Added to every integer, so that Hypothesis draws none of the constants that it finds in loaded modules.
BEYOND_CONSTANTS = 3 << 90

Choose = Callable[[int, int], int]  # from the lowest and the highest integer to one of them or between them


class Choices:
    """Draw values by choosing integers. `log` keeps what was drawn."""

    def __init__(self, choose: Choose, log: list[Any]):
        self._choose, self.log = choose, log

    def one_of(self, values: Iterable[Any]) -> Any:
        """Draw one of the values. Put the simplest first, since shrinking tends towards it."""
        values = tuple(values)
        chosen = values[0 if len(values) == 1 else self._choose_integer(0, len(values) - 1)]
        self.log.append(chosen)
        return chosen

    def integer(self, low: int, high: int) -> int:
        """Draw an integer from low to high, both included."""
        chosen = self._choose_integer(low, high)
        self.log.append(chosen)
        return chosen

    def near(self, *points: int, low: int, high: int) -> int:
        """Draw one of these integers or a neighbour of one, from low to high: where an operation switches its behaviour."""
        around = (point + step for point in points for step in (0, -1, 1))
        return int(self.one_of(dict.fromkeys(i for i in around if low <= i <= high) or (low,)))

    def _choose_integer(self, low: int, high: int) -> int:
        return self._choose(BEYOND_CONSTANTS + low, BEYOND_CONSTANTS + high) - BEYOND_CONSTANTS


def shape_choices(operation: str, random: Random) -> Choose | None:
    """Return a function that chooses the shapes of an example if --shapes=N is given, otherwise None.

    It follows one of N fixed sequences of the operation. All invariants, the gradient and all runs share these sequences, so that
    compiled kernels are reused.
    """
    if (count := current_settings().shape_count) is None:
        return None
    sequence = Random(f"{operation.removesuffix('_vjp')} {random.randrange(count)}")

    def choose(low: int, high: int) -> int:
        """Choose by one random number, whatever the range is. Invariants that draw from other ranges then stay in step."""
        return low + int(sequence.random() * (high - low + 1))

    return choose


class NoExample(Exception):
    """The numbers make no example of this invariant. They belong to another invariant, or to another version of the suite."""


class ReplayedChoices:
    """A source of choices that replays given numbers. It has the methods of Hypothesis's ConjectureData that are used here."""

    def __init__(self, numbers: Sequence[int]):
        self.numbers, self.position = numbers, 0

    def draw_integer(self, low: int, high: int) -> int:
        if self.position >= len(self.numbers):
            raise NoExample(f"it ends after {len(self.numbers)} choices, where one more is asked for")
        number = self.numbers[self.position]
        self.position += 1
        if number > high - low:
            raise NoExample(f"its choice {self.position} is {number}, of {high - low + 1}")
        return low + number

    def mark_overrun(self) -> None:
        """Do nothing, since there is no shrinking."""


def format_choices(numbers: Sequence[int]) -> str:
    """Return the numbers of an example as --example takes them."""
    return ".".join(map(str, numbers))


def parse_choices(text: str) -> tuple[int, ...]:
    """Return the numbers of an example that `format_choices` printed. Raise ValueError if the text is not of that form."""
    if not all(part.isascii() and part.isdigit() for part in text.split(".")):
        raise ValueError("an example is numbers with points between, as a failure prints them")
    return tuple(map(int, text.split(".")))
