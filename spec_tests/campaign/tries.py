"""What is remembered of the tries of an item: a file beside its report, to which a line is added when a try begins and ends.

A try that began and has no end was lost with its machine, or still runs.
"""

from __future__ import annotations

import json
import platform
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from ..report.form import OneOf
from ..report.records import Malformed, from_record, to_record
from .durations import say_times
from .item import Item
from .outcome import UNTRIED, Ending, Outcome
from .schedule import Lease, Step

TRIES = "tries.jsonl"


@dataclass(frozen=True)
class Begun:
    """The line of a try that begins."""

    id: str
    machine: str


@dataclass(frozen=True)
class Over:
    """The line of a try that has ended."""

    id: str
    ending: Annotated[str, OneOf(*map(str, Ending))]
    complaint: str
    seconds: float
    cpu_seconds: float | None
    gives_up: bool


@dataclass(frozen=True)
class Renewed:
    """The line that lets an item that was given up be tried again. The tries before it no longer count."""

    again: bool


LINES: Mapping[str, type[Any]] = MappingProxyType({"begun": Begun, "over": Over, "renewed": Renewed})


@dataclass
class Tries:
    """The tries of an item, so far."""

    begun: dict[str, str] = field(default_factory=dict)  # the machines, by the ids of the tries
    over: dict[str, Over] = field(default_factory=dict)
    counted: list[str] = field(default_factory=list)  # since the item was renewed

    def add(self, line: Begun | Over | Renewed) -> None:
        if isinstance(line, Renewed):
            self.counted.clear()
        elif isinstance(line, Over):
            self.over[line.id] = line
        else:
            self.begun[line.id] = line.machine
            self.counted.append(line.id)

    @property
    def endings(self) -> Counter[Ending]:
        """How the tries that count have ended, those without an end as LOST."""
        found = (Ending(self.over[name].ending) if name in self.over else Ending.LOST for name in self.counted)
        return Counter(ending for ending in found if ending not in (Ending.STOPPED, Ending.TAKEN, Ending.DONE_BEFORE))

    @property
    def given_up(self) -> Over | None:
        """The end of the try after which the item was given up, None if it was not."""
        last = self.over.get(self.counted[-1]) if self.counted else None
        return last if last is not None and last.gives_up and last.ending in UNTRIED else None

    @property
    def cpu_seconds(self) -> float | None:
        """What all tries took. None if no try was measured."""
        found = [line.cpu_seconds for line in self.over.values() if line.cpu_seconds is not None]
        return sum(found) if found else None

    def describe(self) -> str:
        """Say how often the item was tried, and why more than once. Return "" if one try was enough."""
        return describe_endings(self.endings) if self.endings.total() > 1 else ""


def describe_endings(endings: Mapping[Ending, int]) -> str:
    """Return how often an item was tried, and how tries ended that were not the last word.

    >>> describe_endings({Ending.KILLED: 2, Ending.DONE: 1})
    'was tried three times: its process was killed twice'
    """
    causes = [
        *([f"its process was killed {say_times(endings[Ending.KILLED])}"] if endings.get(Ending.KILLED) else []),
        *([f"its machine was lost {say_times(endings[Ending.LOST])}"] if endings.get(Ending.LOST) else []),
    ]
    return f"was tried {say_times(sum(endings.values()))}{': ' * bool(causes)}{', '.join(causes)}"


def read_tries(paths: Iterable[Path]) -> Tries:
    """Return the tries of an item from its files: more than one if machines without a common disk did it."""
    tries = Tries()
    for path in paths:
        with suppress(OSError):
            for text in path.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError, KeyError, AttributeError, Malformed):  # the last line may be cut off
                    ((kind, record),) = json.loads(text).items()
                    tries.add(from_record(LINES[kind], record, kind))
    return tries


class TriesLedger:
    """Writes the tries of the items of a campaign into their folders."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._running: dict[int, tuple[str, Item]] = {}  # the ids of tries, and their items

    def note_start(self, lease: Lease) -> None:
        name = uuid.uuid4().hex[:12]
        self._running[lease.number] = name, lease.item
        self._write(lease.item, "begun", Begun(name, platform.node()))

    def note_end(self, lease: Lease, outcome: Outcome, step: Step) -> None:
        name, item = self._running.pop(lease.number, ("", lease.item))
        gives_up = step is Step.GIVEN_UP or (step is Step.CLOSED and outcome.ending in UNTRIED)
        cpu = None if outcome.cpu_seconds is None else round(outcome.cpu_seconds, 2)
        if name:
            over = Over(name, str(outcome.ending), outcome.complaint, round(outcome.seconds, 2), cpu, gives_up)
            self._write(item, "over", over)

    def note_stop(self) -> None:
        """Take note that the campaign ends while tries run: they count as none."""
        for name, item in self._running.values():
            self._write(item, "over", Over(name, str(Ending.STOPPED), "", 0.0, None, gives_up=False))
        self._running.clear()

    def renew(self, item: Item) -> None:
        """Let an item that was given up be tried again."""
        self._write(item, "renewed", Renewed(True))

    def _write(self, item: Item, kind: str, line: Begun | Over | Renewed) -> None:
        place = self.folder / item.name
        place.mkdir(parents=True, exist_ok=True)
        with (place / TRIES).open("ab", buffering=0) as file:  # one write of one line, so that lines of others stay whole
            file.write((json.dumps({kind: to_record(line)}) + "\n").encode("ascii"))
