"""The step of the backend that the main thread runs now, and how much of its time is left."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .outside_clock import OutsideClock

BEAT_SECONDS = 0.5  # between two beats of the thread that watches a step
LONGEST_BEAT_SECONDS = 1.5  # between two beats of a process that runs


class StepUnderWay:
    """The step that the main thread runs now, and when its time began. Another thread sees whether it ever returns.

    That thread also calls `beat` at intervals. Where there is a gap, in which the process used no CPU time, the process was
    stopped, as by Ctrl-Z or with its container: the gap is none of the step's time. C code that waits and holds the GIL makes
    such a gap, too: from the first gap on, a clock outside of the process counts how long the process was not stopped.
    """

    def __init__(self, clock: OutsideClock | None = None) -> None:
        self.seconds = 0.0  # that it may take
        self._since: float | None = None
        self._stopped = 0.0  # seconds of the step's time in which the process was stopped
        self._beat: tuple[float, float, float] | None = None  # this clock, the CPU time and the outside clock at the last beat
        self._clock = clock or OutsideClock()

    @contextmanager
    def timed(self, seconds: float) -> Iterator[None]:
        """Note that a step runs in this block."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = self.seconds, self._since, self._stopped
        self.seconds, self._since, self._stopped = seconds, time.monotonic(), 0.0
        try:
            yield
        finally:
            self.seconds, self._since, self._stopped = before

    def beat(self) -> None:
        """Count a gap since the last beat in which the process was stopped."""
        before, now = self._beat, (time.monotonic(), time.process_time(), self._clock.seconds())
        self._beat, since = now, self._since  # the step may end at any moment, in another thread
        if before is None or since is None:
            return
        gap, used, counted = now[0] - max(before[0], since), now[1] - before[1], now[2] - before[2]
        stopped = gap - BEAT_SECONDS - max(used, counted)
        if gap > LONGEST_BEAT_SECONDS and stopped > 0:
            self._stopped += stopped
            self._clock.start()

    def time_left(self) -> float:
        """Return the seconds that the step still has, without those in which the process was stopped."""
        if self._beat is not None:
            self.beat()
        since = self._since
        return 0.0 if since is None else since + self.seconds + self._stopped - time.monotonic()

    def is_stuck(self, grace: float) -> bool:
        """Whether the step has taken twice its time, and at least so many seconds more than its time."""
        return self._since is not None and self.time_left() < -max(grace, self.seconds)


step_under_way = StepUnderWay()
