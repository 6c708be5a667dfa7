"""The time that is spent after a failure: the processor's time, so that a busy machine does not make a diagnosis worse."""

from __future__ import annotations

import time

WAITING_COUNTS = 1 / 4  # a second in which this process waits, for a device or another process, counts as so many


class Stopwatch:
    """Counts seconds from its making on."""

    def __init__(self) -> None:
        self.worked_from, self.waited_from = time.process_time(), time.monotonic()

    def __call__(self) -> float:
        """Return the seconds in which this process has worked, or a part of those that have passed, if that is more."""
        return max(time.process_time() - self.worked_from, WAITING_COUNTS * (time.monotonic() - self.waited_from))
