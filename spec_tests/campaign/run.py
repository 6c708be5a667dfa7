"""Do items of a campaign on this machine or on a Ray cluster, and keep what came of each in the folder of the campaign."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from .drive import Engine, Event, drive
from .item import Item
from .needs import Needs
from .outcome import Ending, Outcome
from .plan import Plan
from .schedule import Rules, Schedule, Step
from .tries import TRIES, Tries, TriesLedger, read_tries
from .work import find_report


class ClosableEngine(Engine, Protocol):
    def close(self) -> None: ...


@dataclass
class Pending:
    """Items that are left to do, and those that are not: their reports are complete, or they were given up."""

    schedule: Schedule
    closed: list[Outcome] = field(default_factory=list)


def prepare(plan: Plan, items: Sequence[Item], folder: Path, *, tries: int, again: bool = False) -> Pending:
    """Return what is left to do of the items. `tries` is how often an item is tried whose process is killed.

    An item that was given up is not tried again, unless `again` is true.
    """
    closed, left = [], []
    before: dict[Item, Counter[Ending]] = {}
    ledger = TriesLedger(folder)
    for item in items:
        report = find_report(item, folder)
        known = read_tries([folder / item.name / TRIES])
        if report is not None and report.complete:
            closed.append(Outcome(item, Ending.DONE_BEFORE))
            continue
        if again and known.counted:
            ledger.renew(item)
            known = Tries()
        if known.given_up:
            closed.append(Outcome(item, Ending.GIVEN_UP, f"{known.given_up.ending}; --again tries it again"))
        else:
            left.append((item, plan.needs.get(item.backend, Needs())))
            before[item] = known.endings
    return Pending(Schedule(left, Rules(tries=tries, limit_seconds=plan.limit_seconds), before), closed)


def run(pending: Pending, engine: ClosableEngine, folder: Path) -> Iterator[Event]:
    """Do what is left to do, and yield what happens, first of what was done before. See `drive`."""
    yield from (Event(outcome, Step.CLOSED, 0) for outcome in pending.closed)
    ledger = TriesLedger(folder)
    with closing(engine):
        try:
            yield from drive(pending.schedule, engine, ledger)
        finally:
            ledger.note_stop()
