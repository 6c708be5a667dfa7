"""Tests of the schedule on simulated fleets: each item once, none lost, bounded retries, and no better than can be."""

from collections import Counter
from dataclasses import replace

import pytest

from spec_tests.campaign.drive import PATIENCE_SECONDS
from spec_tests.campaign.outcome import Ending
from spec_tests.campaign.schedule import Rules

from ..measure.fleet import FLEET as MEASURED_FLEET
from ..measure.fleet import SCENARIOS, describe, describe_fleet, describe_scenario, list_seeds
from ..support.paths import MEASURED
from ..support.rotation import rotate
from ..support.simulated_fleet import Fleet, Result, Troubles, draw_items, simulate, simulate_shares

FLEET = Fleet(nodes=5, workers_per_node=4, items=500, limit_seconds=3600)
BAD = Troubles(killed=0.05, poison=0.01, hanging=0.01, slow_nodes=0.2, hours_between_losses=4, frozen=0.3, returning=0.9)
RULES = Rules(limit_seconds=FLEET.limit_seconds)


def check(result: Result) -> None:
    """Check what holds of every campaign that comes to its end, whatever went wrong."""
    items = [item for item, _ in draw_items(FLEET, 0)[0]]
    assert not result.complaint
    assert result.endings.total() == len(items) == len(result.tries)  # each item is closed once
    assert len(result.kept) == len(set(result.kept)) == result.endings[Ending.DONE]  # and its report is kept once
    assert max(result.tries.values()) < RULES.tries + 2 * RULES.losses
    assert result.makespan >= result.bound
    assert result.useful + sum(result.lost.values()) <= result.makespan * FLEET.workers * (1 + 1e-9)
    assert result.held <= result.makespan * FLEET.workers * (1 + 1e-9)


def test_each_item_is_done_once_whatever_goes_wrong() -> None:
    lost: Counter[str] = Counter()
    for seed in range(8):
        result = simulate(FLEET, BAD, seed)
        check(result)
        assert result.endings[Ending.KILLED] >= round(BAD.poison * FLEET.items)
        assert result.endings[Ending.TOO_LONG] >= round(BAD.hanging * FLEET.items)
        lost.update({why: round(seconds) for why, seconds in result.lost.items()})
    assert min(lost.values()) > 0
    assert set(lost) == {"killed processes", "items at their limit", "lost machines", "frozen machines", "second tries"}


@pytest.mark.parametrize("seed", range(4))
def test_where_nothing_fails_each_item_is_tried_once_and_no_machine_waits_for_long(seed: int) -> None:
    result = simulate(FLEET, Troubles(), seed, has_machines=False)
    check(result)
    assert set(result.tries.values()) == {1}
    assert result.endings == {Ending.DONE: FLEET.items}
    assert not result.lost
    longest = max(draw_items(FLEET, seed)[1].values())
    assert result.makespan <= result.bound + longest  # Graham's bound for lists, of items that take one worker
    assert result.held == pytest.approx(result.makespan * FLEET.workers)


def test_an_item_that_always_ends_its_process_is_given_up_after_as_many_tries_as_the_rules_say() -> None:
    result = simulate(FLEET, Troubles(poison=0.02), 1, rules=replace(RULES, tries=2))
    assert result.endings[Ending.KILLED] == 10
    assert sorted(set(result.tries.values())) == [1, 2]


def test_a_campaign_gets_past_machines_that_no_longer_answer() -> None:
    """Nothing reports the loss: second tries find the items that they had, or else the limit."""
    silent = Troubles(hours_between_losses=2, frozen=1.0, returning=0.0)
    fleet = replace(FLEET, nodes=20)
    result = simulate(fleet, silent, 3)
    assert not result.complaint
    assert len(set(result.kept)) == len(result.kept) == result.endings[Ending.DONE] == FLEET.items
    alone = simulate(fleet, silent, 3, has_machines=False)
    assert alone.endings[Ending.DONE] == FLEET.items
    assert alone.makespan > 2 * fleet.limit_seconds > result.makespan


def test_a_fleet_of_which_nothing_is_left_ends_the_campaign_in_a_sentence() -> None:
    result = simulate(FLEET, Troubles(hours_between_losses=0.1, returning=0.0), 1)
    left = FLEET.items - result.endings.total()
    assert 0 < left < FLEET.items
    assert result.complaint == (
        f"no machine has taken an item for 10 min: {left} of 500 items are not done, and each needs 1 CPU or 4 CPUs; "
        "what is done is kept, and the same command goes on"
    ).replace("1 CPU or 4 CPUs", result.complaint.partition("each needs ")[2].partition(";")[0])
    assert "1 CPU" in result.complaint
    assert len(set(result.kept)) == len(result.kept)
    assert result.makespan > PATIENCE_SECONDS


def test_shares_that_are_dealt_before_take_longer_where_machines_are_slow() -> None:
    slow = Troubles(slow_nodes=0.3)
    assert simulate_shares(FLEET, slow, 1).makespan > 1.5 * simulate(FLEET, slow, 1).makespan


def test_a_seed_draws_the_same_fleet() -> None:
    assert describe(simulate(FLEET, BAD, 5)) == describe(simulate(FLEET, BAD, 5)) != describe(simulate(FLEET, BAD, 6))


@pytest.mark.parametrize("name", rotate(SCENARIOS, one_in=len(SCENARIOS)))
def test_the_committed_figures_are_those_of_a_new_run(name: str) -> None:
    """Where this fails, run `python -m meta_tests.measure fleet.txt`: the schedule is another one."""
    committed = (MEASURED / "fleet.txt").read_text().split("\n\n")
    assert committed[0].splitlines() == describe_fleet(MEASURED_FLEET)
    blocks = ["\n".join(describe_scenario(name, seed)) for seed in list_seeds(name)]
    assert [block.strip() for block in committed if block.startswith(f"{name} (")] == blocks
