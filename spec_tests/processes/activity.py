"""Whether processes still do something, or wait, as for another one that will never answer."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
WORKING = ("R", "D")  # the states of threads that run, could run, or wait for a disk
IDLE_SHARE = 0.05  # of the time that passes: less CPU time is that of threads that only look for messages


class Activity:
    """The CPU time of some processes. Where the system does not tell it, they are taken to wait after a longest time alone."""

    def __init__(self, longest_seconds: float):
        self.longest_seconds = longest_seconds
        self.asked: set[int] = set()
        self.since: float | None = None  # when it was asked first
        self.seen: tuple[float, float] | None = None  # when it was asked last, and the CPU seconds until then

    def has_ended(self, processes: Sequence[int]) -> bool:
        """Whether all of these processes have done nothing since this was asked last, or the longest time is over."""
        now = time.monotonic()
        self.since = now if self.since is None else self.since
        used, is_working = 0.0, False
        for process in processes:
            threads = _read_threads(process)
            is_working |= not threads
            for seconds, state in threads:
                used += seconds
                is_working |= state in WORKING
        asked = {*processes}
        before, self.seen = self.seen if asked == self.asked else None, (now, used)
        self.asked = asked
        if now - self.since >= self.longest_seconds:
            return True
        if is_working or before is None:
            return False
        return used - before[1] < IDLE_SHARE * (now - before[0])


def _read_threads(process: int) -> list[tuple[float, str]]:
    """Return the CPU seconds and the state of each thread of a process."""
    found = []
    with suppress(OSError):
        for thread in (PROC / str(process) / "task").iterdir():
            with suppress(OSError, ValueError, IndexError):
                nanoseconds = int((thread / "schedstat").read_text().split()[0])
                found.append((nanoseconds / 1e9, (thread / "stat").read_text().rpartition(")")[2].split()[0]))
    return found
