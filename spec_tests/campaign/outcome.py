"""How a try of an item ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .item import Item


class Ending(StrEnum):
    """How a try of an item ended, in the words that a user reads."""

    DONE = "done"
    DONE_BEFORE = "done before"
    TAKEN = "another process runs it"
    FAILED = "failed"  # it said why; the same call would say it again
    KILLED = "ended its process"
    TOO_LONG = "took longer than its limit"
    TOO_MANY_CALLS = "made as many calls as it may"
    LOST = "lost with its machine"
    STOPPED = "stopped with its campaign"  # counts as no try
    GIVEN_UP = "given up before"


# Where an item is given up after such an end, a merged report does without the rest of it.
UNTRIED = (Ending.KILLED, Ending.LOST, Ending.TOO_LONG, Ending.TOO_MANY_CALLS)


@dataclass(frozen=True)
class Outcome:
    """What came of an item, or of one try of it."""

    item: Item
    ending: Ending
    complaint: str = ""  # why it is not done
    seconds: float = 0.0
    cpu_seconds: float | None = None  # None: not measured

    def __str__(self) -> str:
        return f"{self.item}: {self.ending}{f' ({self.complaint})' * bool(self.complaint)}"
