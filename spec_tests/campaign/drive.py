"""Do the items of a schedule on an engine: threads of this machine, a Ray cluster, or a simulated fleet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .durations import say_duration
from .needs import Needs
from .outcome import Ending, Outcome
from .schedule import Lease, Schedule, Step

SECONDS_BETWEEN_LOOKS = 10.0  # at what runs, when nothing ends
PATIENCE_SECONDS = 600.0  # without a machine that takes an item, until the campaign ends


class FleetLost(Exception):
    """No machine is left that takes an item. The message is one sentence."""


@dataclass(frozen=True)
class Ended:
    """A try that has ended, with the data of its report, which may be cut off."""

    lease: Lease
    outcome: Outcome
    data: bytes = b""


@dataclass(frozen=True)
class Event:
    """What happened to an item, for those who watch."""

    outcome: Outcome
    step: Step
    tries: int  # of the item, with this one


class Engine(Protocol):
    """What does items."""

    has_machines: bool  # several, so that a second try of an item may be faster than the first

    def now(self) -> float:
        """Return the seconds on its clock."""

    def count_room(self, needs: Needs) -> int:
        """Return how many more items with such needs it takes now."""

    def start(self, lease: Lease) -> None:
        """Begin a try."""

    def wait(self, seconds: float) -> Sequence[Ended]:
        """Return the tries that have ended, as soon as there is one. Return none after so many seconds."""

    def stop(self, lease: Lease) -> None:
        """End a try. It may be that it has ended already, or that its machine no longer answers."""

    def keep(self, ended: Ended) -> None:
        """Keep the report of a try as that of its item."""


class Ledger(Protocol):
    """What remembers the tries of each item."""

    def note_start(self, lease: Lease) -> None: ...

    def note_end(self, lease: Lease, outcome: Outcome, step: Step) -> None: ...


def drive(schedule: Schedule, engine: Engine, ledger: Ledger) -> Iterator[Event]:
    """Do all items, and yield what happens to each. Raise FleetLost if no machine takes an item any more."""
    busy_at = engine.now()
    while not schedule.is_finished:
        for lease in start_tries(schedule, engine):
            ledger.note_start(lease)
            engine.start(lease)
        now = engine.now()
        if schedule.running:
            busy_at = now
        elif now - busy_at >= PATIENCE_SECONDS:
            raise FleetLost(describe_loss(schedule))
        ended = list(engine.wait(SECONDS_BETWEEN_LOOKS))
        for lease in schedule.find_frozen(engine.now()):
            ended.append(Ended(lease, Outcome(lease.item, Ending.LOST, "its machine did not end it at its limit")))
            engine.stop(lease)
        for each in ended:
            yield from settle(each, schedule, engine, ledger)


def start_tries(schedule: Schedule, engine: Engine) -> Iterator[Lease]:
    """Yield tries as long as the engine takes one: of open items, then of those that run too slowly."""
    can_take = {}
    for needs in schedule.list_open_needs():
        room = engine.count_room(needs)
        while room > 0 and schedule.count_open(needs):
            yield schedule.start(needs, engine.now())
            room = engine.count_room(needs)
    if not engine.has_machines or schedule.has_open:
        return
    while True:
        can_take = {needs: engine.count_room(needs) > 0 for needs in {lease.needs for lease in schedule.running.values()}}
        second = schedule.start_second(engine.now(), can_take) if any(can_take.values()) else None
        if second is None:
            return
        yield second


def settle(ended: Ended, schedule: Schedule, engine: Engine, ledger: Ledger) -> Iterator[Event]:
    """Take note of the end of a try, and yield what follows from it."""
    item, outcome = ended.lease.item, ended.outcome
    step = schedule.end(ended.lease, outcome.ending, outcome.seconds)
    ledger.note_end(ended.lease, outcome, step)
    if step is Step.TOO_LATE:
        return
    if ended.data or step is Step.CLOSED:
        engine.keep(ended)
    if step in (Step.CLOSED, Step.GIVEN_UP):
        for other in schedule.drop_others(item):
            ledger.note_end(other, Outcome(item, Ending.STOPPED, "another try of it was faster"), Step.TOO_LATE)
            engine.stop(other)
    yield Event(outcome, step, schedule.endings[item].total())


def describe_loss(schedule: Schedule) -> str:
    """Say that no machine is left, and what is left to do."""
    left, wanted = f"{schedule.count_left} of {len(schedule.needs)} items", " or ".join(map(str, schedule.list_open_needs()))
    patience = say_duration(PATIENCE_SECONDS).removeprefix("about ")
    return (
        f"no machine has taken an item for {patience}: {left} are not done, and each needs {wanted}; "
        "what is done is kept, and the same command goes on"
    )
