"""Draw calls at random, without Hypothesis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from spec_tests.calls.operation import Operation
from spec_tests.inputs.choices import Choose
from spec_tests.inputs.draw import Draw


class RandomDraw(Draw):
    """A Draw that takes its choices from a random generator, for calls that need not be shrunk."""

    def __init__(self, operation: Operation, seed: int):
        super().__init__(None, operation)  # type: ignore[arg-type]
        self.chance, self.shape = np.random.default_rng(seed), self

    def for_operation(self, operation: Operation) -> Draw:
        other = RandomDraw(operation, 0)
        other.chance, other.log, other.__dict__["rng"], other.__dict__["bits"] = self.chance, self.log, self.rng, self.bits
        return other

    def one_of(self, values: Iterable[Any]) -> Any:
        values = tuple(values)
        return values[int(self.chance.integers(len(values)))]

    def integer(self, low: int, high: int) -> int:
        return int(self.chance.integers(low, high, endpoint=True))


class RandomSource:
    """A source of one example that a random generator draws. It makes no choices that could be replayed."""

    def __init__(self, seed: int):
        self.seed = seed

    def draw_integer(self, low: int, high: int) -> int:
        raise AssertionError("the draw chooses by itself")

    def make_draw(self, choose: Choose, operation: Operation, choose_shape: Choose) -> Draw:
        return RandomDraw(operation, self.seed)
