"""Do the items of a campaign on this machine, several side by side."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from .drive import Ended
from .needs import Needs
from .outcome import Ending, Outcome
from .schedule import Lease
from .work import do_item


class LocalEngine:
    """Threads, each of which waits for the process of an item. An item takes as many of them as it needs CPUs."""

    has_machines = False

    def __init__(self, folder: Path, jobs: int, limit_seconds: float | None = None):
        self.folder, self.jobs, self.limit_seconds = folder, jobs, limit_seconds
        self.pool = ThreadPoolExecutor(jobs)
        self.ended: queue.Queue[Ended] = queue.Queue()
        self.stops: dict[int, tuple[Event, int]] = {}  # by the number of a try: what ends it, and how many jobs it takes

    def now(self) -> float:
        return time.monotonic()

    def count_room(self, needs: Needs) -> int:
        return (self.jobs - sum(taken for _, taken in self.stops.values())) // self._count_jobs(needs)

    def _count_jobs(self, needs: Needs) -> int:
        return self.jobs if needs.alone else min(needs.cpus, self.jobs)

    def start(self, lease: Lease) -> None:
        stop = Event()
        self.stops[lease.number] = stop, self._count_jobs(lease.needs)
        self.pool.submit(self._do, lease, stop)

    def _do(self, lease: Lease, stop: Event) -> None:
        try:
            outcome = do_item(lease.item, self.folder, self.limit_seconds, stop)
        except Exception as error:  # such as a full disk: the campaign goes on
            outcome = Outcome(lease.item, Ending.FAILED, f"{type(error).__name__}: {error}")
        self.ended.put(Ended(lease, outcome))

    def wait(self, seconds: float) -> Sequence[Ended]:
        try:
            ended = self.ended.get(timeout=seconds)
        except queue.Empty:
            return []
        self.stops.pop(ended.lease.number, None)
        return [ended]

    def stop(self, lease: Lease) -> None:
        if lease.number in self.stops:
            self.stops[lease.number][0].set()

    def keep(self, ended: Ended) -> None:
        """Do nothing: the process of the item has written its report into the folder of the campaign."""

    def close(self) -> None:
        """End what runs, with all that it has started."""
        for stop, _ in self.stops.values():
            stop.set()
        self.pool.shutdown(wait=True, cancel_futures=True)
