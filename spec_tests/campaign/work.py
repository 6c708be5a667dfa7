"""Do items of a campaign: each is a pytest run in a process of its own, which leaves one report.

An item whose report is complete is not run again. An item that was cut off is continued, law by law.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..report import Report, ReportError, read
from ..running.fresh_run import run_fresh
from .item import Item, read_key

DONE, DONE_BEFORE, TAKEN, FAILED = "done", "done before", "another process runs it", "failed"
LAST_CHARACTERS = 500  # of what a process printed that left no report


@dataclass(frozen=True)
class Outcome:
    """What came of an item."""

    item: Item
    state: str  # one of the above
    complaint: str = ""  # why it failed

    def __str__(self) -> str:
        return f"{self.item}: {self.state}{f' ({self.complaint})' * bool(self.complaint)}"


def find_report(item: Item, folder: Path) -> Report | None:
    """Return the report of an item in the folder of a campaign. None if there is none, or one of another item."""
    with suppress(ReportError):
        report = read(folder / item.name)
        if read_key(report.header) == item.key:
            return report
    return None


def do_item(item: Item, folder: Path) -> Outcome:
    """Run an item unless its report is complete. The report is in a folder of its own inside of `folder`."""
    before = find_report(item, folder)
    if before is not None and before.complete:
        return Outcome(item, DONE_BEFORE)
    place = (folder / item.name).resolve()
    place.mkdir(parents=True, exist_ok=True)
    report = f"--spec-report={place}"
    done = run_fresh(report, *(["--spec-resume"] if before else []), *item.options)
    if before is not None and "--resume: " in done.stderr:  # the backend has changed since: what it did counts for nothing
        done = run_fresh(report, *item.options)
    after = find_report(item, folder)
    if after is not None and after.complete:
        return Outcome(item, DONE)
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    if lines and "another run" in lines[-1]:
        return Outcome(item, TAKEN)
    if lines:
        return Outcome(item, FAILED, lines[-1].removeprefix("ERROR: "))
    ending = after.ending if after else (done.stderr or done.stdout).strip()[-LAST_CHARACTERS:]
    return Outcome(item, FAILED, f"exit status {done.returncode}: {ending}")


def do_items(items: Sequence[Item], folder: Path, jobs: int = 1) -> Iterator[Outcome]:
    """Do the items, `jobs` of them side by side, in their order. Yield what came of each when it ends."""
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(do_item, item, folder) for item in items]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
