"""What a correct implementation may return for one call: the oracle's value, the allowed error, and the accepted results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ..specification.formats import Arithmetic, Format, JoinedFormat
from .bounded import Bounded
from .sampled_error import sampled_error

Evaluate = Callable[[Callable[[Any], Any]], Any]  # evaluate(wrap) runs the equation on wrap(x) for each input x


class Expectation:
    """The interval value ± error of correct results before they are stored in the format `storage`.

    Rounding is monotone, so a result in this interval is stored between the roundings of its two ends.
    An infinite error or a NaN value means that nothing is claimed of the element: every result is accepted.
    """

    def __init__(self, value: np.ndarray, error: np.ndarray, storage: Format | JoinedFormat):
        self.value, self.error, self.storage = value, error, storage
        self.open = np.zeros((), dtype=bool)  # the elements that depend on a choice that rounding leaves open

    @cached_property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest accepted result of each element, as stored."""
        f = self.storage
        with np.errstate(all="ignore"):
            low, high = self.value - self.error, self.value + self.error
        flushes = np.asarray(f.flush == f.tiny)  # whether subnormal numbers of the format may be flushed to zero
        if flushes.any():
            low = np.where(flushes & (low > 0) & (low < f.tiny), 0.0, low)
            high = np.where(flushes & (high < 0) & (high > -f.tiny), 0.0, high)
        unclaimed = ~self.claimed
        return np.where(unclaimed, -np.inf, f.round(low)), np.where(unclaimed, np.inf, f.round(high))

    @cached_property
    def claimed(self) -> np.ndarray:
        """For each element, whether a bound is claimed."""
        return np.isfinite(self.error) & ~np.isnan(self.value)

    @cached_property
    def radius(self) -> np.ndarray:
        """The largest distance from the value of a correct result, as stored."""
        low, high = self.ends
        with np.errstate(all="ignore"):
            radius = np.maximum(high - self.value, self.value - low)
        return np.where(np.isinf(self.value) & self.claimed, 0.0, np.where(np.isnan(radius), np.inf, radius))

    def accepts(self, result: np.ndarray) -> np.ndarray:
        """Return whether each element of the result is within its bound."""
        low, high = self.ends
        return np.where(self.claimed, (low <= result) & (result <= high), True)

    def share(self, result: np.ndarray) -> np.ndarray:
        """Return the share of the allowed error that each element uses, apart from the rounding on storage. 1 is the limit."""
        with np.errstate(all="ignore"):
            distance = np.abs(result - self.value) - self.storage.half_gap(result, self.value)
            share = np.maximum(distance, 0) / self.error
        share = np.where(distance <= 0, 0.0, share)
        share = np.where(self.accepts(result), np.minimum(np.nan_to_num(share, nan=0.0), 1.0), np.maximum(share, 1.0))
        return np.where(np.isnan(result) & self.claimed, np.inf, np.where(self.claimed, share, 0.0))


def expect(
    evaluate: Evaluate, arithmetic: Arithmetic, storage: Format | JoinedFormat, *, composed: bool, inexact: bool
) -> Expectation:
    """Return the oracle's value and the error that `arithmetic` allows: the worst case, or the sampled error if it is smaller.

    composed: the operation chains matrix products. Their worst case is too large to be useful, so the error is also sampled.
    inexact: some argument has an error of its own. Only the worst case propagates it, so nothing is sampled.
    """
    with np.errstate(all="ignore"):  # where the value is infinite, the error says whether anything is claimed
        bounded = evaluate(lambda x: Bounded.input(x, arithmetic))
        value, error = bounded.value, bounded.error
        if arithmetic.compute.precision == 53:
            error = 2 * error  # the oracle is a float64 implementation too, with an error of its own
    if composed and not inexact and value.size and not _is_below_storage_rounding(error, value, storage):
        with np.errstate(all="ignore"):
            exact = value if np.all(np.isfinite(value)) else evaluate(np.asarray)
            # Bounded reports an infinity where the worst case overflows; the value of the equation may still be finite.
            value = np.where(np.isfinite(value) | np.isinf(error), exact, value)
            error = np.minimum(error, sampled_error(evaluate, exact, arithmetic))
    return Expectation(value, error, storage)


def _is_below_storage_rounding(error: np.ndarray, value: np.ndarray, storage: Format | JoinedFormat) -> bool:
    """Return whether the error is so far below the rounding on storage that a sampled one could not change a verdict."""
    return bool(np.all(error <= storage.u * np.abs(value) / 16))
