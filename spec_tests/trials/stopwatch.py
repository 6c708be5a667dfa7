"""The time that is spent after a failure. A busy or a slow machine gets more of it, so that its diagnosis is not worse."""

from __future__ import annotations

import time
from collections import deque

import numpy as np

from ..bounds.derivation import expect
from ..specification.formats import FORMATS, Arithmetic
from ..specification.registry import specification

WAITING_COUNTS = 1 / 4  # a second in which this process waits, for a device or another process, counts as so many
BOUND_SECONDS = 0.0002  # in which the machine for which the limits of the efforts were chosen derives a small bound
TIMED_EVERY_SECONDS = 0.02  # of this process: the speed of a machine changes with what else runs on it
TIMES_KEPT = 5
MAX_SLOWDOWN = 4.0  # a machine that is slower than this gets no more time


class Stopwatch:
    """Counts seconds from its making on. On a machine that derives bounds slowly, a second counts less."""

    def __init__(self) -> None:
        self.seconds, self.slowdown = 0.0, Slowdown()
        self.worked_until, self.waited_until = time.process_time(), time.monotonic()

    def __call__(self) -> float:
        """Return the seconds in which this process has worked, or a part of those that have passed, if that is more."""
        worked, waited = time.process_time(), time.monotonic()
        counted = max(worked - self.worked_until, WAITING_COUNTS * (waited - self.waited_until))
        self.seconds += counted / self.slowdown.measure(worked)
        self.worked_until, self.waited_until = worked, waited
        return self.seconds


class Slowdown:
    """How much slower this machine derives bounds than the one for which the limits were chosen: from 1 to `MAX_SLOWDOWN`."""

    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=TIMES_KEPT)
        self.timed_at = -TIMED_EVERY_SECONDS

    def measure(self, now: float) -> float:
        """Return the slowdown in the last few measurements. Measure again if this process has worked since the last one."""
        if now - self.timed_at >= TIMED_EVERY_SECONDS:
            self.times.append(time_bound())
            self.timed_at = now
        return min(max(1.0, sum(self.times) / len(self.times) / BOUND_SECONDS), MAX_SLOWDOWN)


def time_bound() -> float:
    """Return the processor's seconds in which this process derives the error bound of a small softmax."""
    softmax, storage = specification("softmax").reference, FORMATS["float32"]
    x = np.linspace(-4.0, 4.0, 64).reshape(4, 16)
    start = time.process_time()
    expect(lambda number: softmax(number(x), axis=-1), Arithmetic(storage, storage), storage, sampled=False)
    return time.process_time() - start
