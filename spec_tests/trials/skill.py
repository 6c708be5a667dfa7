"""The skill of a backend: how far its answers are above the best trivial answer, and how close to the bound.

An element earns 1 within its bound. It earns nothing if its error is not smaller than that of every trivial answer that is wrong
there, and between the two, the share of the digits that it has right. A call earns what the mean of its elements is above the
share of elements that the best trivial answer has right. What is above that share could be earned. A call without a readable
answer earns nothing.

Forecasts are graded in this way: by the gain over a forecast that needs no skill, as a share of the largest possible gain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..bounds.expectation import Expectation
from ..calls.call import Call
from ..calls.trivial_answers import list_trivial_answers
from ..specification.float_errors import ignored_float_errors


@dataclass
class Skill:
    """What the calls of a trial have earned so far, of what they could earn."""

    earned: float = 0.0
    possible: float = 0.0
    calls: int = 0

    def add(self, call: Call | None) -> None:
        """Count the call of an example, which the backend may not have answered. None: the example came to no call."""
        self.calls += 1
        if call is None:
            self.possible += 1.0
            return
        earned, possible = grade(call)
        self.earned += earned
        self.possible += possible


def grade(call: Call) -> tuple[float, float]:
    """Return what the answer to a call earns, and what it could earn."""
    expectation = call.expectation(call.operation.classes()[-1])
    claimed = np.asarray(expectation.claimed & np.ones(call.value.shape, dtype=bool))
    if not np.any(claimed):
        return 0.0, 0.0
    scale, known = np.full(call.value.shape, np.inf), 0.0
    for answer in list_trivial_answers(call):
        right = expectation.accepts(answer)
        known = max(known, float(np.mean(right[claimed])))
        scale = np.minimum(scale, np.where(right, np.inf, _distance(answer, expectation)))
    if call.observed is None:
        return 0.0, 1.0 - known
    found = float(np.mean(_credit(np.asarray(call.observed, dtype=np.float64), expectation, scale)[claimed]))
    return max(0.0, found - known), 1.0 - known


def _distance(answer: np.ndarray, expectation: Expectation) -> np.ndarray:
    """Return the error of each element, infinity where it is not a number."""
    with ignored_float_errors():
        distance = np.abs(answer - expectation.value)
    return np.where(np.isnan(distance), np.inf, distance)


def _credit(answer: np.ndarray, expectation: Expectation, scale: np.ndarray) -> np.ndarray:
    """Return what each element earns. `scale` is the smallest error of a trivial answer that is wrong there."""
    with ignored_float_errors():
        bound = np.maximum(expectation.radius, expectation.storage.u * scale)
        share = np.log(scale / _distance(answer, expectation)) / np.log(scale / bound)
    graded = np.isfinite(scale) & (bound < scale) & ~np.isnan(share)
    return np.where(expectation.accepts(answer), 1.0, np.where(graded, np.clip(share, 0.0, 1.0), 0.0))
