"""What the examples of a trial showed, counted up: how many ran, what was refused, how much of the bound was used."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bounds.bounded import Bounded
from ..calls.call import Call
from ..calls.violation import Lost, Violation
from ..specification.formats import PRECISIONS
from ..specification.pytree import leaves

if TYPE_CHECKING:
    from ..calls.result import Result


def summarize_example(result: Result, share: np.ndarray, precision: str) -> dict[str, Any]:
    """Which arguments, and at which element: what was expected, what came, and the allowed distance."""
    call, expectation = result.call, result.call.expectation(precision)
    at = np.unravel_index(int(np.argmax(share)), share.shape)
    return {
        "share": float(share[at]),
        "arguments": {
            f"{name}{path}": _argument(x) for name, value in call.named.items() if name != "wrt" for path, x in leaves(value)
        },
        "at": call.operation.place(call, at),
        "expected": float(expectation.value[at]),
        "got": float(result.value[at]),
        "bound": float(expectation.radius[at]),
    }


def _argument(x: Any) -> Any:
    """Of an array its shape and how small and large its numbers are."""
    x = x.value if isinstance(x, Bounded) else x
    if not isinstance(x, np.ndarray):
        return x.item() if isinstance(x, np.generic) else x
    told: dict[str, Any] = {"shape": list(x.shape)}
    if x.dtype.kind == "f":
        sizes = np.abs(x[np.isfinite(x) & (x != 0)])
        told |= {"least": float(sizes.min()), "largest": float(sizes.max())} if sizes.size else {}
        told |= {"not finite": int(np.sum(~np.isfinite(x)))} if not np.all(np.isfinite(x)) else {}
    return told


REFUSED_PREFIX = "not implemented in any variant tried: "

NOT_CALLED = "no example that was drawn calls the backend"

STRICTNESS = ("exact", *PRECISIONS)


@dataclass
class Tally:
    """What the examples showed; reported whether or not they passed."""

    examples: int = 0
    refusals: list[str] = field(default_factory=list)
    reached: str = ""
    shares: list[float] = field(default_factory=list)  # the largest part of the bound used, of each example
    worst: dict[str, Any] = field(default_factory=dict)  # where most of it was used
    elements: int = 0
    unclaimed: int = 0
    failing: set[str] = field(default_factory=set)
    failed_at: float | None = None
    last_violation: Violation | None = None  # the last; Hypothesis may find that it does not come again
    choices: tuple[int, ...] = ()  # the choices that make its example
    losses: dict[str, Lost] = field(default_factory=dict)  # by what had been drawn: not to be seen twice
    calls: list[Call] = field(default_factory=list)  # of the failing example
    recorded_count: int = 0
    level_lost: str = ""
    tolerated: Violation | None = None  # because it is known
    known: str = ""  # to be failing, or flaky
    repeats: bool = True  # what was seen was seen again on the same inputs

    @property
    def not_tried_reason(self) -> str:
        """Why there is no example, if there is none."""
        if self.examples:
            return ""
        return f"{REFUSED_PREFIX}{self.refusals[0]}" if self.refusals else NOT_CALLED

    def add_comparison(self, precision: str, share: np.ndarray, claimed: np.ndarray, result: Result) -> None:
        if STRICTNESS.index(precision) > STRICTNESS.index(self.reached or "exact"):
            self.shares.clear()  # shares of a stricter bound
        self.reached = max(self.reached or precision, precision, key=STRICTNESS.index)
        if precision == self.reached and share.size:
            if not self.shares or np.max(share) > max(self.shares):
                self.worst = summarize_example(result, share, precision)
            self.shares.append(float(np.max(share)))
        self.elements += share.size
        self.unclaimed += int(share.size - np.sum(claimed))
