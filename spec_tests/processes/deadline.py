"""A deadline in the time of the process that waits: while it is stopped, as by Ctrl-Z or with its container, no time passes."""

from __future__ import annotations

import time

LONGEST_WAIT_SECONDS = 1.5  # between two looks of a process that runs


class Deadline:
    """So many seconds from now. Whoever waits asks for what is left at least once in LONGEST_WAIT_SECONDS."""

    def __init__(self, seconds: float) -> None:
        self._left, self._seen = seconds, time.monotonic()

    def left(self) -> float:
        """Return the seconds that are left. A longer wait than there can be was a stop, of which no more than that counts."""
        now = time.monotonic()
        self._left -= min(now - self._seen, LONGEST_WAIT_SECONDS)
        self._seen = now
        return self._left
