"""What an example is made of: choices between two integers, one after the other; by chance, by Hypothesis, or as a row says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


def few_shapes(operation: str, random: Random) -> Choose | None:
    """What chooses the shapes of an example where an operation may have few: one of so many rows, the same for every invariant,
    for the gradient, and in every run, so that what was compiled for one is there for the others. None where shapes are free."""
    if (many := effort.shapes()) is None:
        return None
    row = Random(f"{operation.removesuffix('_vjp')} {random.randrange(many)}")

    def choose(low: int, high: int) -> int:
        """By one random number, whatever it is between: so invariants whose dimensions may differ agree on most."""
        return low + int(row.random() * (high - low + 1))

    return choose
