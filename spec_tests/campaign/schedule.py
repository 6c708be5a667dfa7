"""Which item of a campaign comes next, which is tried again, and which is given up: a state machine without a clock of its own.

An item is open, running (one or more tries of it), or closed. The engines and the simulation of a fleet use the same one: they
say which try has ended how, and at what time.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from .item import Item
from .needs import Needs
from .outcome import Ending

REPEATED = (Ending.KILLED, Ending.LOST)  # after which an item is tried again
SLOW = 2.0  # times the seconds that an item should take: then a second try of it may begin where nothing else is left to do
KEPT = 0.99  # of what earlier items say of the pace, when another one ends
FROZEN = 2.0  # times the limit of an item: then its machine does not answer, since it should have ended the item itself


@dataclass(frozen=True)
class Rules:
    """How often an item is tried, and how long."""

    tries: int = 3  # of an item that ends its process
    losses: int = 10  # of an item whose machine is lost: it may be the item that takes the machine down
    limit_seconds: float | None = None

    def allows_another(self, endings: Mapping[Ending, int]) -> bool:
        """Whether an item whose tries ended so is tried again."""
        return endings.get(Ending.KILLED, 0) < self.tries and endings.get(Ending.LOST, 0) < self.losses


@dataclass(frozen=True)
class Lease:
    """One try of an item."""

    number: int  # of all tries of the campaign
    item: Item
    needs: Needs
    started: float
    is_second: bool = False  # another try of the item still runs


class Step(Enum):
    """What follows from the end of a try."""

    CLOSED = auto()  # the item is done, or no other try would help: this try says what came of it
    GIVEN_UP = auto()  # it was tried as often as the rules allow
    AGAIN = auto()
    WAITS = auto()  # another try of the item still runs
    TOO_LATE = auto()  # another try has closed the item


class Schedule:
    """The items of a campaign that are to be done, those that take longest first."""

    def __init__(
        self,
        items: Iterable[tuple[Item, Needs]],
        rules: Rules | None = None,
        before: Mapping[Item, Mapping[Ending, int]] | None = None,
    ):
        """Begin with open items. `before` says how tries of them have ended in an earlier run of the campaign."""
        self.rules = rules or Rules()
        self.endings: dict[Item, Counter[Ending]] = defaultdict(Counter)
        for item, counts in (before or {}).items():
            self.endings[item].update({ending: count for ending, count in counts.items() if ending in REPEATED})
        self.needs = dict(items)
        self.running: dict[int, Lease] = {}
        self.closed: dict[Item, Ending] = {}
        self.tries = 0
        self._open: dict[Needs, list[tuple[float, str, Item]]] = {}
        self._tries_of: dict[Item, set[int]] = defaultdict(set)
        self._oldest: deque[int] = deque()
        self._open_work = 0.0  # expected seconds of open items, times their CPUs
        self._expected = self._measured = 0.0  # seconds of items that are done: as planned, and as they were
        for item in self.needs:
            self._reopen(item)

    def _reopen(self, item: Item) -> None:
        heapq.heappush(self._open.setdefault(self.needs[item], []), (-item.expected_seconds, item.name, item))
        self._open_work += item.expected_seconds * self.needs[item].cpus

    # --- what it knows ------------------------------------------------------------------------------------------------

    @property
    def is_finished(self) -> bool:
        return len(self.closed) == len(self.needs)

    @property
    def has_open(self) -> bool:
        return any(self._open.values())

    @property
    def count_left(self) -> int:
        return len(self.needs) - len(self.closed)

    def list_open_needs(self) -> list[Needs]:
        """Return what open items need, that of the item that takes longest first."""
        return sorted((needs for needs, items in self._open.items() if items), key=lambda needs: self._open[needs][0][:2])

    def count_open(self, needs: Needs) -> int:
        return len(self._open.get(needs, ()))

    @property
    def pace(self) -> float:
        """How many seconds an item takes for each that was planned, by the items that ended last."""
        return self._measured / self._expected if self._expected else 1.0

    def expect_remaining(self, now: float) -> float | None:
        """Return the seconds until all items are closed, by what the items took that are done. None as long as none is.

        The CPUs are taken to be as many as items use now, and one more where an item waits for the one that has just ended.
        """
        cpus = sum(lease.needs.cpus for lease in self.running.values()) + self.has_open
        if not self._expected or not cpus:
            return None
        pace = self.pace
        left = [(max(each.item.expected_seconds * pace - (now - each.started), 0.0), each) for each in self.running.values()]
        work = self._open_work * pace + sum(seconds * each.needs.cpus for seconds, each in left)
        return max([work / cpus, *(seconds for seconds, _ in left)])

    # --- what happens -------------------------------------------------------------------------------------------------

    def start(self, needs: Needs, now: float) -> Lease:
        """Begin a try of the open item with such needs that takes longest."""
        *_, item = heapq.heappop(self._open[needs])
        self._open_work -= item.expected_seconds * needs.cpus
        return self._lease(item, now, is_second=False)

    def start_second(self, now: float, can_take: Mapping[Needs, bool]) -> Lease | None:
        """Begin a second try of the item that runs longest beyond what is expected of it. None if there is none that is slow.

        What comes first then counts. Only one that ran SLOW times as long as expected is slow.
        """
        late = [
            (now - lease.started - lease.item.expected_seconds * self.pace, lease.number, lease.item)
            for lease in self.running.values()
            if can_take.get(lease.needs)
            and len(self._tries_of[lease.item]) == 1
            and now - lease.started > SLOW * lease.item.expected_seconds * self.pace
        ]
        return self._lease(max(late)[-1], now, is_second=True) if late and self._expected else None

    def _lease(self, item: Item, now: float, *, is_second: bool) -> Lease:
        self.tries += 1
        lease = Lease(self.tries, item, self.needs[item], now, is_second)
        self.running[lease.number] = lease
        self._tries_of[item].add(lease.number)
        self._oldest.append(lease.number)
        return lease

    def end(self, lease: Lease, ending: Ending, seconds: float) -> Step:
        """Take note of how a try ended, after so many seconds of work. Return what follows."""
        item = lease.item
        if self.running.pop(lease.number, None) is None or item in self.closed:
            return Step.TOO_LATE
        self._tries_of[item].discard(lease.number)
        self.endings[item][ending] += 1
        if ending in REPEATED:
            if not self.rules.allows_another(self.endings[item]):
                self.closed[item] = ending
                return Step.GIVEN_UP
            if self._tries_of[item]:
                return Step.WAITS
            self._reopen(item)
            return Step.AGAIN
        if ending == Ending.DONE:
            self._expected = KEPT * self._expected + item.expected_seconds
            self._measured = KEPT * self._measured + seconds
        self.closed[item] = ending
        return Step.CLOSED

    def drop_others(self, item: Item) -> list[Lease]:
        """Return the tries of a closed item that still run. They count for nothing."""
        return [self.running.pop(number) for number in sorted(self._tries_of.pop(item, ()))]

    def find_frozen(self, now: float) -> Iterator[Lease]:
        """Yield the tries that run far longer than an item may: their machine should have ended them."""
        limit = self.rules.limit_seconds
        while limit is not None and self._oldest:
            lease = self.running.get(self._oldest[0])
            if lease is not None and now - lease.started < FROZEN * limit:
                return
            self._oldest.popleft()
            if lease is not None:
                yield lease
