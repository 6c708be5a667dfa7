"""What a correct implementation may return for one call: the oracle's value, its allowed error, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..specification.formats import Arithmetic, Format
from .bounded import Bounded
from .sample import sampled_error

Evaluate = Callable[[Callable[[Any], Any]], Any]  # runs the equation with its inputs wrapped


class Expectation:
    """value ± error before the result is stored in `storage`.

    Rounding is monotone, so what was computed within `error` of `value` is stored between the roundings of the two ends.
    """

    def __init__(self, value: np.ndarray, error: np.ndarray, storage: Format):
        self.value, self.error, self.storage = value, error, storage

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        f = self.storage
        with np.errstate(all="ignore"):
            low, high = self.value - self.error, self.value + self.error
        if f.flush == f.tiny:  # these subnormals may be flushed to zero
            low = np.where((low > 0) & (low < f.tiny), 0.0, low)
            high = np.where((high < 0) & (high > -f.tiny), 0.0, high)
        unclaimed = ~self.claimed
        return np.where(unclaimed, -np.inf, f.round(low)), np.where(unclaimed, np.inf, f.round(high))

    @cached_property
    def claimed(self) -> np.ndarray:
        return np.isfinite(self.error) & ~np.isnan(self.value)

    @cached_property
    def radius(self) -> np.ndarray:
        """How far a correct result, as stored, may lie from the value."""
        low, high = self.ends
        with np.errstate(all="ignore"):
            radius = np.maximum(high - self.value, self.value - low)
        return np.where(np.isinf(self.value) & self.claimed, 0.0, np.where(np.isnan(radius), np.inf, radius))

    def accepts(self, result: np.ndarray) -> np.ndarray:
        low, high = self.ends
        return np.where(self.claimed, (low <= result) & (result <= high), True)

    def share(self, result: np.ndarray) -> np.ndarray:
        """The part of the allowed error that the result uses, beside the rounding of its storage: 1 is the limit."""
        with np.errstate(all="ignore"):
            distance = np.abs(result - self.value) - self.storage.half_gap(result, self.value)
            share = np.maximum(distance, 0) / self.error
        share = np.where(distance <= 0, 0.0, share)
        share = np.where(self.accepts(result), np.minimum(np.nan_to_num(share, nan=0.0), 1.0), np.maximum(share, 1.0))
        return np.where(np.isnan(result) & self.claimed, np.inf, np.where(self.claimed, share, 0.0))


def expect(evaluate: Evaluate, arithmetic: Arithmetic, storage: Format, *, composed: bool, inexact: bool) -> Expectation:
    """The oracle's value and the error that `arithmetic` allows.

    composed: the operation chains matrix products, whose worst case says little; sampling is then worth its price.
    inexact: some argument carries an error of its own, which only the worst case can propagate.
    """
    with np.errstate(all="ignore"):  # where an infinity arises, the error says so
        ball = evaluate(lambda x: Bounded.input(x, arithmetic))
        value, error = ball.value, ball.error
        if arithmetic.compute.precision == 53:
            error = 2 * error  # the oracle is but one more correct float64 implementation
    if composed and not inexact and value.size and not _is_below_storage_rounding(error, value, storage):
        with np.errstate(all="ignore"):
            exact = value if np.all(np.isfinite(value)) else evaluate(np.asarray)
            value = np.where(np.isfinite(value) | np.isinf(error), exact, value)  # the worst case may overflow, and not the value
            error = np.minimum(error, sampled_error(evaluate, exact, arithmetic))
    return Expectation(value, error, storage)


def _is_below_storage_rounding(error: np.ndarray, value: np.ndarray, storage: Format) -> bool:
    """Far below the rounding of the result: no smaller error could be told apart."""
    return bool(np.all(error <= storage.u * np.abs(value) / 16))
