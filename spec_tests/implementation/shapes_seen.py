"""The shapes that a backend was called with. A kernel that is compiled for each shape takes long in its first call of one."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

SLOW_SECONDS = 0.2  # of a first call of shapes, from which on it is said to be slow
SLOW_RATIO = 10  # how many times the seconds of a later call
COMPARED = 4  # shapes with a first and a later call, of which the median is taken


@dataclass
class ShapeLimit:
    """How many new shapes a block may meet."""

    left: float = math.inf
    is_met: bool = False  # whether a call was not made because of it


@dataclass(frozen=True)
class ShapeCounts:
    """How many calls were made, how many of them were the first of their shapes, and how long these took."""

    calls: int = 0
    new: int = 0
    seconds: float = 0.0


class ShapesSeen:
    """Counts the calls of a backend, and those that are the first with arrays of their shapes.

    A block may limit the number of new shapes. A search for a cause then asks its other questions in known shapes.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0  # of first calls
        self.searched: Counter[str] = Counter()  # new shapes that searches for a cause have asked for, by operation
        self._first: dict[Hashable, float] = {}
        self._later: dict[Hashable, float] = {}  # the shortest later call of some of these shapes
        self._limit = ShapeLimit()
        self._told = ShapeCounts()

    @property
    def new(self) -> int:
        """How many shapes there were."""
        return len(self._first)

    def admits(self, key: Hashable) -> bool:
        """Whether a call of these shapes may be made here."""
        if self._limit.left > 0 or key in self._first:
            return True
        self._limit.is_met = True
        return False

    @contextmanager
    def limited_to(self, count: float) -> Iterator[ShapeLimit]:
        """Admit at most this number of new shapes in the block. A block inside of another has what is left of it."""
        outer = self._limit
        limit = self._limit = ShapeLimit(min(count, outer.left))
        before = self.new
        try:
            yield limit
        finally:
            self._limit = outer
            outer.left -= self.new - before

    @contextmanager
    def timed(self, key: Hashable) -> Iterator[None]:
        """Count the call that the block makes."""
        self.calls += 1
        is_new, since = key not in self._first, time.perf_counter()
        if is_new:
            self._first[key] = 0.0
            self._limit.left -= 1
        try:
            yield
        finally:
            seconds = time.perf_counter() - since
            if is_new:
                self._first[key] = seconds
                self.seconds += seconds
            elif key in self._later or len(self._later) < COMPARED:
                self._later[key] = min(seconds, self._later.get(key, seconds))

    def tell(self) -> ShapeCounts:
        """Return what was counted since this was asked for."""
        told, self._told = self._told, ShapeCounts(self.calls, self.new, self.seconds)
        return ShapeCounts(self.calls - told.calls, self.new - told.new, self.seconds - told.seconds)

    @property
    def is_slow(self) -> bool:
        """Whether first calls of shapes have taken long, beside later calls of the same shapes."""
        if len(self._later) < COMPARED:
            return False
        pairs = sorted((self._first[key], later) for key, later in self._later.items())
        first, later = pairs[len(pairs) // 2]
        return first >= SLOW_SECONDS and first >= SLOW_RATIO * later
