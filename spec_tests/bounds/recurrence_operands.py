"""The operands of a recurrence: arrays with their errors, and what code may have multiplied them by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]  # values and their errors


class Operands(NamedTuple):
    """The arrays of the recurrence, each with its errors."""

    q: Pair
    k: Pair
    v: Pair
    g: Pair | None
    beta: Pair | None
    state: Pair
    steps: np.ndarray | None = None  # what v has been multiplied by
    scale: float = 1.0  # what the reads will be multiplied by

    @property
    def unscaled(self) -> float:
        """By how much an error in a scaled query, or one in a query without its scale, may be larger than in the other."""
        return max(abs(self.scale), 1 / abs(self.scale)) if self.scale else 1.0
