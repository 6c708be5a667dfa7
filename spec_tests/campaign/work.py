"""Do an item of a campaign: a pytest run in a process of its own, which leaves one report.

An item whose report is complete is not run again. An item that was cut off is continued, law by law.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from threading import Event

from ..implementation.printable import printable_line
from ..report import Report, ReportError, read
from ..running.fresh_run import FreshRun, run_fresh
from .item import Item, read_key
from .outcome import Ending, Outcome

MAX_CHARACTERS = 300  # of what a process printed that left no report
BY_CALLS = "--max-calls"  # begins what cut a run that made as many calls as it may


def find_report(item: Item, folder: Path) -> Report | None:
    """Return the report of an item in the folder of a campaign. None if there is none, or one of another item."""
    with suppress(ReportError):
        report = read(folder / item.name)
        if read_key(report.header) == item.key:
            return report
    return None


def do_item(item: Item, folder: Path, limit_seconds: float | None = None, stop: Event | None = None) -> Outcome:
    """Run an item unless its report is complete. The report is in a folder of its own inside of `folder`.

    After `limit_seconds`, or when `stop` is set, its process is killed with all that it has started.
    """
    before = find_report(item, folder)
    if before is not None and before.complete:
        return Outcome(item, Ending.DONE_BEFORE)
    place = (folder / item.name).resolve()
    place.mkdir(parents=True, exist_ok=True)
    report = f"--spec-report={place}"
    resume = ["--spec-resume"] if before else []
    done = run_fresh(report, *resume, *item.options, limit_seconds=limit_seconds, stop=stop)
    if before is not None and "--resume: " in done.stderr:  # the backend has changed since: what it did counts for nothing
        done = run_fresh(report, *item.options, limit_seconds=limit_seconds, stop=stop)
    ending, complaint = _judge(done, find_report(item, folder), limit_seconds)
    if stop is not None and stop.is_set() and ending != Ending.DONE:
        ending, complaint = Ending.STOPPED, ""
    return Outcome(item, ending, complaint, done.seconds, done.cpu_seconds)


def _judge(done: FreshRun, report: Report | None, limit_seconds: float | None) -> tuple[Ending, str]:
    """Return how the process of an item has ended, and why the item is not done."""
    if report is not None and report.complete:
        return Ending.DONE, ""
    after = "" if report is None else f", after {len(report.verdicts)} law{'s' * (len(report.verdicts) != 1)}"
    if done.exceeded:
        return Ending.TOO_LONG, f"it was ended with all that it had started when {limit_seconds:g} s had passed{after}"
    lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    if lines and "another run" in lines[-1]:
        return Ending.TAKEN, ""
    if lines:
        return Ending.FAILED, printable_line(lines[-1].removeprefix("ERROR: "), MAX_CHARACTERS)
    if report is not None and report.footer is not None:
        cuts = (report.footer.cuts or {}).values()
        is_counted = any(cut.by.startswith(BY_CALLS) for cut in cuts)
        return Ending.TOO_MANY_CALLS if is_counted else Ending.FAILED, report.ending
    if report is not None or done.returncode < 0:
        return Ending.KILLED, f"{describe_status(done.returncode)}{after}"
    said = printable_line((done.stderr or done.stdout).strip()[-MAX_CHARACTERS:], MAX_CHARACTERS)
    return Ending.FAILED, f"{describe_status(done.returncode)}, without a report{f'; it said: {said}' * bool(said)}"


def describe_status(status: int) -> str:
    """Return the exit status of a process in words.

    >>> describe_status(-9), describe_status(7)
    ('SIGKILL', 'exit status 7')
    """
    if status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"exit status {status}"
