"""What a correct implementation may return for one call: the oracle's value, the allowed error, and the accepted results."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

import numpy as np

from ..specification.float_errors import ignored_float_errors
from ..specification.formats import Format, JoinedFormat


class Stage(IntEnum):
    """How far an error is derived. An error is never smaller than at an earlier stage, so what meets that one is right."""

    STORED = 0  # no error but the rounding on storage
    FEW = 1  # the worst case, or what a few draws allow, if that is less
    WHOLE = 2


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
        with ignored_float_errors():
            low, high = self.value - self.error, self.value + self.error
            flushes = f.flush == f.tiny  # whether subnormal numbers of the format may be flushed to zero
            if np.any(flushes):
                if np.any(flushed := flushes & (low > 0) & (low < f.tiny)):
                    low = np.where(flushed, 0.0, low)
                if np.any(flushed := flushes & (high < 0) & (high > -f.tiny)):
                    high = np.where(flushed, 0.0, high)
            low, high = f.round(low), f.round(high)
        if not np.all(self.claimed):
            low, high = np.where(self.claimed, low, -np.inf), np.where(self.claimed, high, np.inf)
        return low, high

    @cached_property
    def claimed(self) -> np.ndarray:
        """For each element, whether a bound is claimed."""
        return np.isfinite(self.error) & ~np.isnan(self.value)

    @cached_property
    def radius(self) -> np.ndarray:
        """The largest distance from the value of a correct result, as stored."""
        low, high = self.ends
        with ignored_float_errors():
            radius = np.maximum(high - self.value, self.value - low)
        return np.where(np.isinf(self.value) & self.claimed, 0.0, np.where(np.isnan(radius), np.inf, radius))

    @property
    def is_whole(self) -> bool:
        """Whether the whole error was derived."""
        return True

    def at_stage(self, stage: Stage) -> Expectation:
        """Return the expectation with its error at this stage. That of a plain one is known as a whole."""
        return self

    def accepts(self, result: np.ndarray) -> np.ndarray:
        """Return whether each element of the result is within its bound.

        What lies in the interval before it is stored lies in it afterwards. Mostly that is enough, and nothing is rounded.
        """
        with ignored_float_errors():
            if np.all(inside := np.abs(result - self.value) <= self.error):
                return np.asarray(inside)
        low, high = self.ends
        return np.asarray((low <= result) & (result <= high) | ~self.claimed)

    def accepts_all(self, result: np.ndarray) -> bool:
        """Return whether every element of the result is within its bound."""
        return bool(np.all(self.accepts(result)))

    def share(self, result: np.ndarray) -> np.ndarray:
        """Return the share of the allowed error that each element uses, apart from the rounding on storage. 1 is the limit."""
        if np.array_equal(result, self.value):
            return np.zeros(self.value.shape)
        with ignored_float_errors():
            distance = np.abs(result - self.value) - self.storage.half_gap(result, self.value)
            share = np.maximum(distance, 0) / self.error
        share = np.where(distance <= 0, 0.0, share)
        share = np.where(self.accepts(result), np.minimum(np.nan_to_num(share, nan=0.0), 1.0), np.maximum(share, 1.0))
        return np.where(np.isnan(result) & self.claimed, np.inf, np.where(self.claimed, share, 0.0))
