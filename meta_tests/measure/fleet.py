"""Simulate campaigns on a fleet of 1000 workers: `python -m meta_tests.measure.fleet > docs/measured/fleet.txt`.

The schedule and the loop are those of campaigns (spec_tests/campaign/schedule.py and drive.py). The clock, the machines and the
seconds of the items are simulated: meta_tests/support/simulated_fleet.py. A seed draws the same fleet each time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from ..support.simulated_fleet import HOUR, Fleet, Result, Troubles, simulate, simulate_shares

FLEET = Fleet(nodes=125, workers_per_node=8, items=100_000)
SLOW = Troubles(slow_nodes=0.02)
KILLED = Troubles(killed=0.005, poison=0.0005)
LOST = Troubles(hours_between_losses=100, frozen=0.1)
ALL = replace(KILLED, slow_nodes=0.02, hours_between_losses=100, frozen=0.1)
HANGING = replace(ALL, hanging=0.0001)
SEEDS = (1, 2, 3)  # of what has everything
SCENARIOS: dict[str, Callable[[int], Result]] = {
    "nothing fails": lambda seed: simulate(FLEET, Troubles(), seed),
    "nothing fails, shares dealt before": lambda seed: simulate_shares(FLEET, Troubles(), seed),
    "2 % of the nodes take 4 times as long": lambda seed: simulate(FLEET, SLOW, seed),
    "the same, shares dealt before": lambda seed: simulate_shares(FLEET, SLOW, seed),
    "0.5 % of the tries are killed, 0.05 % of the items each time": lambda seed: simulate(FLEET, KILLED, seed),
    "each node is lost every 100 h, 10 % of them silently": lambda seed: simulate(FLEET, LOST, seed),
    "all of these": lambda seed: simulate(FLEET, ALL, seed),
    "all of these without second tries": lambda seed: simulate(FLEET, ALL, seed, has_machines=False),
    "all of these, and 0.01 % of the items hang": lambda seed: simulate(FLEET, HANGING, seed),
}


def describe(result: Result) -> list[str]:
    """Return the lines about a campaign."""
    lost = sum(result.lost.values())
    kinds = sorted(result.lost.items(), key=lambda pair: -pair[1])
    endings = ", ".join(f"{count} {ending}" for ending, count in result.endings.most_common())
    lines = [
        f"makespan {result.makespan / HOUR:.2f} h, {result.makespan / result.bound:.2f} times the lower bound",
        f"worker hours: {result.held / HOUR:.0f} held, {100 * result.useful / result.held:.0f} % of them useful, "
        f"{100 * lost / result.held:.1f} % lost",
        f"items: {endings}; nodes lost: {result.lost_nodes}; most tries of an item: {max(result.tries.values())}",
    ]
    if lost:
        lines.insert(2, "lost hours: " + ", ".join(f"{seconds / HOUR:.1f} by {why}" for why, seconds in kinds))
    if result.said:
        said = (f"{left / 60:.0f} min ({then / 60:.0f})" for left, then in result.said.values())
        lines.append(f"said to remain (and what it took) when {', '.join(map(str, result.said))} % were done: {', '.join(said)}")
    return lines


def describe_fleet(fleet: Fleet) -> list[str]:
    """Return the lines about the fleet and its items."""
    return [
        f"{fleet.items} items on {fleet.workers} workers, {fleet.workers_per_node} on each node; "
        f"{100 * fleet.wide:.0f} % of the items take 4 workers.",
        f"Seconds of an item: median {fleet.median_seconds:.0f}, standard deviation of the logarithm {fleet.spread:g}; "
        f"limit {fleet.limit_seconds / HOUR:g} h.",
        f"Standard deviation of the logarithm of what the plan expects, over what an item takes: {fleet.error:g}.",
    ]


def list_seeds(name: str) -> tuple[int, ...]:
    return SEEDS if name.startswith("all") else SEEDS[:1]


def describe_scenario(name: str, seed: int) -> list[str]:
    """Return the lines about a campaign with some troubles."""
    return [f"{name} (seed {seed})", *(f"  {line}" for line in describe(SCENARIOS[name](seed)))]


def main() -> int:
    print(*describe_fleet(FLEET), sep="\n")
    for name in SCENARIOS:
        for seed in list_seeds(name):
            print("", *describe_scenario(name, seed), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
