"""What a trial records of one example: its calls, and the time and losses that end it early."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..calls.recorder import Recorder
from ..calls.result import Result
from ..inputs.effort import current_effort
from .tally import Tally


class ShrinkingTimeout(Exception):
    """Shrinking has used its time. An example that is not yet known to fail is abandoned."""


class ExampleRecorder(Recorder):
    """Records the calls of one example at a time, for all operations of a trial."""

    def __init__(self, tally: Tally):
        super().__init__()
        self.tally = tally
        self.drawn: list[Any] = []  # the log of the example's draws
        self.states: list[str] = []  # what had been drawn before each call

    def start(self, drawn: list[Any]) -> None:
        """Begin an example."""
        self.drawn = drawn
        self.calls.clear()
        self.states.clear()

    def before_run(self) -> None:
        """Raise ShrinkingTimeout when shrinking has no time left, or the loss that this call is already known to cause."""
        tally, state = self.tally, repr(self.drawn)
        self.states.append(state)
        late = tally.failed_at is not None and time.monotonic() - tally.failed_at > current_effort().shrink_seconds
        if late and state not in tally.failing:
            raise ShrinkingTimeout
        if loss := tally.losses.get(state):
            raise loss

    def add_comparison(self, precision: str, share: np.ndarray, claimed: np.ndarray, result: Result) -> None:
        self.tally.add_comparison(precision, share, claimed, result)
