"""A fleet of machines under a simulated clock, on which the schedule of a campaign is driven as on a real one.

`spec_tests.campaign.drive.drive` and `spec_tests.campaign.schedule.Schedule` are the code that campaigns run. What is simulated
is the clock, the machines, and how long items take.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from spec_tests.campaign.drive import Ended, FleetLost, drive
from spec_tests.campaign.item import Item
from spec_tests.campaign.needs import Needs
from spec_tests.campaign.outcome import Ending, Outcome
from spec_tests.campaign.plan import deal
from spec_tests.campaign.schedule import Lease, Rules, Schedule, Step

HOUR = 3600.0
SAID = (25, 50, 75)  # percents of the items that are done, at which it is noted how long the rest is said to take


@dataclass(frozen=True)
class Troubles:
    """What goes wrong in a fleet."""

    killed: float = 0.0  # the probability that a try of an item ends its process, for no reason of the item
    poison: float = 0.0  # the part of the items that end their process in each try
    hanging: float = 0.0  # the part of the items that run until their limit
    slow_nodes: float = 0.0  # the part of the nodes that are slow
    slowness: float = 4.0  # how many times longer an item takes there
    hours_between_losses: float = float("inf")  # of one node, on average
    frozen: float = 0.0  # the part of the losses that nothing reports
    returning: float = 0.5  # the part of the lost nodes that come back
    hours_away: float = 0.25


@dataclass(frozen=True)
class Fleet:
    """The nodes of a fleet, and the items that they do."""

    nodes: int
    workers_per_node: int
    items: int
    median_seconds: float = 60.0
    spread: float = 1.0  # standard deviation of the logarithm of the items' seconds
    error: float = 0.3  # of the logarithm of what was expected of them
    wide: float = 0.05  # the part of the items that take four workers of a node
    limit_seconds: float = 2 * HOUR
    seconds_of_start: float = 3.0  # of the process of an item
    seconds_until_reported: float = 30.0  # from the loss of a node until the engine says it

    @property
    def workers(self) -> int:
        return self.nodes * self.workers_per_node


@dataclass
class Node:
    """A machine. `life` counts how often it was started: what belongs to an earlier life is gone."""

    speed: float
    free: int
    is_up: bool = True
    is_known_lost: bool = False
    life: int = 0
    leases: dict[int, Lease] = field(default_factory=dict)


@dataclass
class Result:
    """What came of a campaign on the fleet. Seconds of work are those of workers."""

    makespan: float = 0.0
    bound: float = 0.0  # no fleet of so many workers is faster
    useful: float = 0.0
    lost: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # seconds that came to nothing, by why
    held: float = 0.0  # seconds that workers were there
    kept: list[Item] = field(default_factory=list)  # items, each as often as a report of it was kept as that of a done item
    endings: Counter[str] = field(default_factory=Counter)  # of the items
    tries: Counter[Item] = field(default_factory=Counter)
    lost_nodes: int = 0
    said: dict[int, tuple[float, float]] = field(default_factory=dict)  # by percents done: seconds left, as said and as they were
    complaint: str = ""


class SimulatedEngine:
    """An engine of `drive`, whose nodes are simulated."""

    def __init__(self, fleet: Fleet, troubles: Troubles, seconds: dict[Item, float], seed: int, *, has_machines: bool = True):
        self.fleet, self.troubles, self.seconds, self.has_machines = fleet, troubles, seconds, has_machines
        self.random = random.Random(seed)
        self.time, self.events, self.number = 0.0, list[tuple[float, int, str, int, int]](), 0
        self.result = Result()
        self.places: dict[int, tuple[int, int]] = {}  # of leases: the node, and its life
        self.leases: dict[int, Lease] = {}
        self.kept_items = set[Item]()
        poison = self.random.sample(list(seconds), round(troubles.poison * len(seconds)))
        self.poison, self.hanging = set(poison), self._choose(troubles.hanging, set(poison))
        self.nodes = [Node(self._draw_speed(), fleet.workers_per_node) for _ in range(fleet.nodes)]
        self.by_free: dict[int, dict[int, None]] = {n: {} for n in range(fleet.workers_per_node + 1)}
        for i in range(fleet.nodes):
            self.by_free[fleet.workers_per_node][i] = None
            self._plan_loss(i)

    def _choose(self, part: float, others: set[Item]) -> set[Item]:
        rest = [item for item in self.seconds if item not in others]
        return set(self.random.sample(rest, round(part * len(rest))))

    def _draw_speed(self) -> float:
        return 1 / self.troubles.slowness if self.random.random() < self.troubles.slow_nodes else 1.0

    def _plan(self, seconds: float, kind: str, which: int, life: int) -> None:
        self.number += 1
        heapq.heappush(self.events, (self.time + seconds, self.number, kind, which, life))

    def _plan_loss(self, i: int) -> None:
        if self.troubles.hours_between_losses < float("inf"):
            self._plan(self.random.expovariate(1 / (self.troubles.hours_between_losses * HOUR)), "loss", i, self.nodes[i].life)

    # --- the engine ---------------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self.time

    def count_room(self, needs: Needs) -> int:
        return sum(len(nodes) * (free // needs.cpus) for free, nodes in self.by_free.items())

    def start(self, lease: Lease) -> None:
        cpus = lease.needs.cpus
        i = next(i for free in range(cpus, self.fleet.workers_per_node + 1) for i in self.by_free[free])
        node = self.nodes[i]
        self._set_free(i, node.free - cpus)
        node.leases[lease.number] = self.leases[lease.number] = lease
        self.places[lease.number] = i, node.life
        self.result.tries[lease.item] += 1
        self._plan_end(lease, i)

    def _plan_end(self, lease: Lease, i: int) -> None:
        """Decide how a try will end. On a node that was lost, and of which the engine does not know it, none does."""
        node, item, limit = self.nodes[i], lease.item, self.fleet.limit_seconds
        whole = self.fleet.seconds_of_start + self.seconds[item] / node.speed
        if not node.is_up:
            return
        if item in self.poison or self.random.random() < self.troubles.killed:
            self._plan(whole * self.random.random(), "killed", lease.number, node.life)
        elif item in self.hanging or whole > limit:
            self._plan(limit, "limit", lease.number, node.life)
        else:
            self._plan(whole, "done", lease.number, node.life)

    def wait(self, seconds: float) -> Sequence[Ended]:
        until = self.time + seconds
        while self.events and self.events[0][0] <= until:
            self.time, _, kind, which, life = heapq.heappop(self.events)
            if kind in ("done", "killed", "limit"):
                if self.places.get(which, (-1, -1))[1] == life and self.nodes[self.places[which][0]].is_up:
                    return [self._end(which, kind)]
            elif self.nodes[which].life == life:
                if kind == "loss":
                    self._lose(which)
                elif kind == "report":
                    return self._report_loss(which)
                else:
                    self._return(which)
                    return []
        self.time = until
        return []

    def stop(self, lease: Lease) -> None:
        """End a try. A node that does not answer then is given nothing more."""
        if lease.number not in self.places:
            return
        i, life = self.places[lease.number]
        node = self.nodes[i]
        does_not_answer = node.life == life and not node.is_up
        self._waste(lease, "frozen machines" if does_not_answer else "second tries")
        self._take_off(lease)
        if does_not_answer and not node.is_known_lost:
            node.is_known_lost = True
            self.by_free[node.free].pop(i, None)

    def keep(self, ended: Ended) -> None:
        if ended.outcome.ending == Ending.DONE:
            self.result.kept.append(ended.lease.item)
            self.kept_items.add(ended.lease.item)
            self.result.useful += ended.outcome.seconds * ended.lease.needs.cpus

    # --- what happens to tries ------------------------------------------------------------------------------------------

    def _end(self, number: int, kind: str) -> Ended:
        lease, seconds = self.leases[number], self.time - self.leases[number].started
        self._take_off(lease)
        if kind == "done":
            return Ended(lease, Outcome(lease.item, Ending.DONE, seconds=seconds))
        self._waste(lease, "killed processes" if kind == "killed" else "items at their limit")
        return Ended(lease, Outcome(lease.item, Ending.KILLED if kind == "killed" else Ending.TOO_LONG, seconds=seconds))

    def _waste(self, lease: Lease, why: str) -> None:
        self.result.lost[why] += (self.time - lease.started) * lease.needs.cpus

    def _take_off(self, lease: Lease) -> None:
        i, life = self.places.pop(lease.number)
        del self.leases[lease.number]
        node = self.nodes[i]
        if node.life == life:
            del node.leases[lease.number]
            self._set_free(i, node.free + lease.needs.cpus)

    def _set_free(self, i: int, free: int) -> None:
        node = self.nodes[i]
        self.by_free[node.free].pop(i, None)
        node.free = free
        if not node.is_known_lost:
            self.by_free[free][i] = None

    # --- what happens to nodes ------------------------------------------------------------------------------------------

    def _lose(self, i: int) -> None:
        node = self.nodes[i]
        node.is_up = False
        self.result.lost_nodes += 1
        self.result.held += self.time * self.fleet.workers_per_node
        if self.random.random() >= self.troubles.frozen:
            self._plan(self.fleet.seconds_until_reported, "report", i, node.life)

    def _report_loss(self, i: int) -> list[Ended]:
        node = self.nodes[i]
        ended = [Ended(lease, Outcome(lease.item, Ending.LOST)) for lease in node.leases.values()]
        for each in ended:
            self._waste(each.lease, "lost machines")
            del self.leases[each.lease.number], self.places[each.lease.number]
        node.leases.clear()
        self.by_free[node.free].pop(i, None)
        node.is_known_lost = True
        node.life += 1
        if self.random.random() < self.troubles.returning:
            self._plan(self.troubles.hours_away * HOUR, "return", i, node.life)
        return ended

    def _return(self, i: int) -> None:
        node = self.nodes[i]
        node.is_up, node.is_known_lost, node.free = True, False, self.fleet.workers_per_node
        self.result.held -= self.time * self.fleet.workers_per_node  # it is added again when it is lost, or at the end
        self.by_free[node.free][i] = None
        self._plan_loss(i)


Drawn = tuple[list[tuple[Item, Needs]], dict[Item, float]]  # items with what they need, and their seconds on a node of full speed


class NoLedger:
    """Remembers nothing: the simulation is one run."""

    def note_start(self, lease: Lease) -> None: ...

    def note_end(self, lease: Lease, outcome: Outcome, step: Step) -> None: ...


def draw_items(fleet: Fleet, seed: int) -> Drawn:
    """Return the items with what they need, and how long each takes on a node of full speed."""
    source = random.Random(seed)
    items, seconds = [], {}
    blank = Item("mine.py", "relu", "float32", "smoke", 0, 0, 0)
    for i in range(fleet.items):
        true = fleet.median_seconds * source.lognormvariate(0, fleet.spread)
        expected = true * source.lognormvariate(0, fleet.error)
        item = replace(blank, first_seed=i, last_seed=i, expected_seconds=expected)
        items.append((item, Needs(cpus=4 if source.random() < fleet.wide else 1)))
        seconds[item] = true
    return items, seconds


def simulate(
    fleet: Fleet,
    troubles: Troubles,
    seed: int,
    *,
    has_machines: bool = True,
    rules: Rules | None = None,
    drawn: Drawn | None = None,
) -> Result:
    """Drive a schedule on a simulated fleet until its items are closed, or no machine is left.

    `drawn` are the items, as `draw_items` returns them.
    """
    items, seconds = drawn or draw_items(fleet, seed)
    engine = SimulatedEngine(fleet, troubles, seconds, seed, has_machines=has_machines)
    schedule = Schedule(items, rules or Rules(limit_seconds=fleet.limit_seconds))
    result = engine.result
    said: dict[int, tuple[float, float]] = {}
    try:
        for event in drive(schedule, engine, NoLedger()):
            if event.step in (Step.CLOSED, Step.GIVEN_UP):
                result.endings[event.outcome.ending] += 1
                percents = 100 * len(schedule.closed) // len(items)
                if percents in SAID and percents not in said and (remaining := schedule.expect_remaining(engine.now())):
                    said[percents] = engine.now(), remaining
    except FleetLost as error:
        result.complaint = str(error)
    result.makespan = engine.time
    result.said = {percents: (remaining, engine.time - then) for percents, (then, remaining) in said.items()}
    up = sum(node.is_up for node in engine.nodes)
    result.held += engine.time * up * fleet.workers_per_node
    whole = {item: fleet.seconds_of_start + seconds[item] for item in engine.kept_items}
    work = sum(whole[item] * needs.cpus for item, needs in items if item in whole)
    result.bound = max(work / fleet.workers, max(whole.values(), default=0.0))
    return result


def simulate_shares(fleet: Fleet, troubles: Troubles, seed: int) -> Result:
    """Deal the items to the nodes beforehand, as `spec-tests work --item=K/N` does: no node takes over from another."""
    items, seconds = draw_items(fleet, seed)
    needs, together = dict(items), Result()
    for i, hand in enumerate(deal(needs, fleet.nodes)):
        drawn = [(item, needs[item]) for item in hand], {item: seconds[item] for item in hand}
        one = replace(fleet, nodes=1, items=len(hand))
        result = simulate(one, troubles, seed * fleet.nodes + i, has_machines=False, drawn=drawn)
        together.makespan = max(together.makespan, result.makespan)
        together.bound += result.bound / fleet.nodes
        together.useful += result.useful
        together.held += result.held
        together.kept += result.kept
        together.endings += result.endings
        together.tries += result.tries
        for why, lost in result.lost.items():
            together.lost[why] += lost
    return together
