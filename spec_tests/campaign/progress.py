"""What is printed while a campaign runs: each item that ends, new failures, repeated tries, and how long it takes yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ..implementation.printable import printable_line
from ..report import Report
from ..report.verdict import RecordedVerdict
from .drive import Event
from .durations import say_duration, say_times
from .outcome import Ending
from .schedule import Schedule, Step
from .work import find_report

MAX_LISTED = 10  # new failures of one item


class Progress:
    """The lines about one call of `spec-tests work` or `spec-tests campaign`."""

    def __init__(self, total: int, folder: Path, schedule: Schedule):
        self.total, self.folder, self.schedule = total, folder, schedule
        self.count = 0
        self.endings: Counter[Ending] = Counter()
        self.known: set[tuple[str, str, str]] = set()  # failures that were listed: another slice of seeds may meet them again
        self.remaining = ""  # as it was said last

    @property
    def exit_status(self) -> int:
        """0 if all items are done, 3 if one is not."""
        return 0 if set(self.endings) <= {Ending.DONE, Ending.DONE_BEFORE, Ending.TAKEN} else 3

    @property
    def can_be_merged(self) -> bool:
        """Whether no item failed that the next call may do. Items that were given up are merged as not tried."""
        return not self.endings[Ending.FAILED]

    def describe(self, event: Event, now: float) -> Iterator[str]:
        """Yield the lines about an event, each of which is plain text."""
        outcome = event.outcome
        if event.step in (Step.CLOSED, Step.GIVEN_UP):
            self.count += 1
            self.endings[outcome.ending] += 1
            yield f"{self.count}/{self.total} {_describe_end(event)}"
        else:
            again = "another try of it goes on" if event.step is Step.WAITS else f"tried {say_times(event.tries)}, and again"
            yield f"{outcome}; {again}"
        if outcome.ending not in (Ending.DONE_BEFORE, Ending.TAKEN, Ending.GIVEN_UP):
            report = find_report(outcome.item, self.folder)
            yield from self._list_failures(report) if report else ()
        yield from self._say_remaining(now)

    def _list_failures(self, report: Report) -> Iterator[str]:
        new = [v for v in report.verdicts if v.status == "failed" and (v.backend, v.id, v.dtype) not in self.known]
        self.known |= {(v.backend, v.id, v.dtype) for v in new}
        yield from map(_describe_failure, new[:MAX_LISTED])
        if len(new) > MAX_LISTED:
            yield f"  {len(new) - MAX_LISTED} more laws failed: see {report.path.parent.name}"

    def _say_remaining(self, now: float) -> Iterator[str]:
        seconds = self.schedule.expect_remaining(now)
        said = "" if seconds is None else say_duration(seconds)
        if said and said != self.remaining:
            yield f"  {self.count} of {self.total} done, {said} more"
        self.remaining = said


def _describe_end(event: Event) -> str:
    tries = f"; tried {say_times(event.tries)}" if event.tries > 1 else ""
    return f"{event.outcome}{tries}{', and given up' * (event.step is Step.GIVEN_UP)}"


def _describe_failure(verdict: RecordedVerdict) -> str:
    cause = verdict.causes[0].what if verdict.causes else verdict.reason
    return f"  failed: {printable_line(f'{verdict.backend} {verdict.id} ({verdict.dtype}): {cause}')}"
