"""A clock that stands still while other processes have the cores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ..processes.activity import PROC

LOOK_SECONDS = 0.05  # between two looks at how long processes have waited, since a look costs some system calls
THIS_THREAD = "thread-self"


def read_waits() -> dict[str, float]:
    """Return how many seconds this thread, and the processes that it has started, have been ready to run without a core.

    {} where the system does not say it, as on macOS and Windows.
    """
    waits = {}
    for process in (THIS_THREAD, *_list_descendants(PROC / THIS_THREAD)):
        with suppress(OSError, ValueError, IndexError):
            waits[process] = int((PROC / process / "schedstat").read_text().split()[1]) / 1e9
    return waits


def _list_descendants(task: Path) -> Iterator[str]:
    with suppress(OSError):
        for child in (task / "children").read_text().split():
            yield child
            yield from _list_descendants(PROC / child / "task" / child)


class WorkingClock:
    """The seconds that pass, without those in which this thread or a process that it has started waits for a core.

    On a machine with many busy processes a search is slow for a reason that is not the backend's.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, read_waits: Callable[[], Mapping[str, float]] = read_waits
    ) -> None:
        self.clock, self.read_waits = clock, read_waits
        self.looked_at, self.waits, self.waited = clock(), read_waits(), 0.0

    def __call__(self) -> float:
        now = self.clock()
        if now - self.looked_at >= LOOK_SECONDS:
            before, self.waits = self.waits, self.read_waits()
            longest = max((seconds - before.get(process, 0.0) for process, seconds in self.waits.items()), default=0.0)
            self.waited += min(max(longest, 0.0), now - self.looked_at)
            self.looked_at = now
        return now - self.waited
