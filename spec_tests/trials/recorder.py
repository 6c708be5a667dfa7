"""The recorder of a trial. It keeps the calls of one example, and ends examples for which no budget is left."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..calls.recorder import Recorder
from ..calls.result import Result
from .tally import Tally


class ShrinkingEnded(Exception):
    """Shrinking has spent its budget, so that an example is abandoned unless it is already known to fail."""


class ExampleRecorder(Recorder):
    """Keep the calls of one example at a time, for all operations of a trial."""

    def __init__(self, tally: Tally):
        super().__init__()
        self.tally = tally
        self.drawn: list[Any] = []  # the log of the example's draws
        self.counts: list[int] = []  # before each call, how many draws there had been

    def start(self, drawn: list[Any]) -> None:
        """Begin an example."""
        self.drawn = drawn
        self.clear()
        self.counts.clear()

    def before_run(self) -> None:
        """Raise ShrinkingEnded if the budget of shrinking is spent, or the `Lost` violation that this call is known to cause."""
        tally = self.tally
        self.counts.append(len(self.drawn))
        if tally.surveys:
            raise ShrinkingEnded
        if not tally.shrinking and not tally.losses:
            return
        state = repr(self.drawn)
        if state not in tally.failing and tally.is_spent():
            raise ShrinkingEnded
        if loss := tally.losses.get(state):
            raise loss

    @property
    def states(self) -> list[str]:
        """What had been drawn before each call."""
        return [repr(self.drawn[:count]) for count in self.counts]

    def add_convention(self, name: str, value: str) -> None:
        self.tally.conventions.setdefault(name, Counter())[value] += 1

    @property
    def reached(self) -> str:
        return self.tally.shares.reached

    def wants_share(self, precision: str) -> bool:
        return self.tally.wants_share(precision)

    def add_comparison(self, precision: str, share: np.ndarray, claimed: np.ndarray, result: Result) -> None:
        self.tally.add_comparison(precision, share, claimed, result)
