"""The shares of the error bound that one array's answers use, in the precision class that they need."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..specification.formats import PRECISIONS

if TYPE_CHECKING:
    from ..calls.result import Result

STRICTNESS = ("exact", *PRECISIONS)


@dataclass
class Shares:
    """The class that the answers needed so far, and the largest share of its bound in each of them."""

    reached: str = ""
    largest: list[float] = field(default_factory=list)

    def add(self, precision: str, share: np.ndarray) -> bool:
        """Count an answer, which needs this class. Return whether it uses more of the bound than all before it."""
        if self.is_looser(precision):
            self.largest.clear()  # they were shares of a stricter bound
        self.reached = max(self.reached or precision, precision, key=STRICTNESS.index)
        if precision != self.reached or not share.size:
            return False
        is_largest = not self.largest or bool(np.max(share) > max(self.largest))
        self.largest.append(float(np.max(share)))
        return is_largest

    def is_looser(self, precision: str) -> bool:
        """Whether this class is looser than the one that the answers needed so far."""
        return STRICTNESS.index(precision) > STRICTNESS.index(self.reached or "exact")

    @property
    def worst(self) -> float | None:
        return max(self.largest, default=None)

    @property
    def median(self) -> float | None:
        return float(np.median(self.largest)) if self.largest else None


def compare_parts(result: Result, reached: str = "") -> dict[str, tuple[str, np.ndarray]]:
    """Return for each of several arrays the class that it meets, and the shares of that bound; {} for a single one.

    The class is the strictest one, but none that is stricter than `reached`, which earlier answers of all arrays have needed.
    """
    if not result.call.parts:
        return {}
    compared: dict[str, tuple[str, np.ndarray]] = {}
    parts, classes = list(result.call.parts), result.call.operation.classes()
    for precision in classes[classes.index(reached) if reached in classes else 0 :]:
        expectation = result.call.expectation(precision)
        accepted, share = expectation.accepts(result.value), expectation.share(result.value)
        for part in parts:
            if part.name not in compared and (precision == classes[-1] or np.all(accepted[part.elements])):
                compared[part.name] = precision, share[part.elements]
        if len(compared) == len(parts):
            break
    return compared
