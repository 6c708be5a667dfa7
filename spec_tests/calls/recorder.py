"""The recorder of an operation. It is given each call as it is made, and each comparison with the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .steps import Steps

if TYPE_CHECKING:
    from .call import Call
    from .result import Result


UNKNOWN, REFUSED = "unknown", "refused"  # outcomes of an open question besides the known values of its convention


class Recorder:
    """Keep the calls in the order in which they were made. A trial hands in a subclass that also counts and sets limits."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.steps = Steps()

    def release(self) -> None:
        """Let go of the framework's arrays that the calls have returned."""
        for call in self.calls:
            call.release()

    def clear(self) -> None:
        """Forget all calls."""
        self.calls.clear()
        self.steps.clear()

    def forget_last_call(self) -> None:
        """Forget the call that was made last."""
        self.calls.pop()
        self.steps.pop()

    def before_run(self) -> None:
        """Be told that the backend is about to be called. A subclass may raise to end the example."""

    @property
    def reached(self) -> str:
        """The loosest precision class that a result has needed so far, "" if there was none."""
        return ""

    def wants_share(self, precision: str) -> bool:
        """Be told of a result that meets this class. Return whether the share that it uses of its bound is to be told, too."""
        return True

    def add_comparison(self, precision: str, share: np.ndarray, claimed: np.ndarray, result: Result) -> None:
        """Be told the strictest precision class that a result meets, and the share of the error bound that each element uses.

        `claimed` says for each element whether the bound claims anything about it.
        """

    def add_convention(self, name: str, value: str) -> None:
        """Be told which value of a convention an answer fits, or UNKNOWN or REFUSED. It is not told of stated conventions."""

    def calls_by_operation(self, operations: Sequence[object]) -> list[Call]:
        """Return the calls, grouped by operation in the order given."""
        return [call for operation in operations for call in self.calls if call.operation is operation]
