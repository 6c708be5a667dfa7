"""Tests of the schedule: which item comes next, what follows from the end of a try, and how long the rest takes."""

from dataclasses import replace

import pytest

from spec_tests.campaign.durations import say_duration
from spec_tests.campaign.item import Item
from spec_tests.campaign.needs import Needs
from spec_tests.campaign.outcome import Ending
from spec_tests.campaign.schedule import FROZEN, SLOW, Rules, Schedule, Step

ONE, GPU = Needs(), Needs(gpus=0.25)
ITEMS = [Item("a.py", "relu", "float32", "smoke", i, i, 0, expected_seconds=10.0 * (i + 1)) for i in range(4)]


def make(count: int = 4, **rules: float) -> Schedule:
    return Schedule([(item, ONE) for item in ITEMS[:count]], Rules(**rules))


def test_items_that_take_longest_come_first() -> None:
    schedule = make()
    assert [schedule.start(ONE, 0.0).item for _ in range(4)] == ITEMS[::-1]
    assert not schedule.has_open
    assert not schedule.is_finished


def test_items_of_other_needs_wait_for_none_of_these() -> None:
    schedule = Schedule([(item, GPU if item.first_seed % 2 else ONE) for item in ITEMS])
    assert schedule.list_open_needs() == [GPU, ONE]
    assert schedule.start(ONE, 0.0).item == ITEMS[2]
    assert schedule.count_open(ONE) == 1
    assert schedule.count_open(GPU) == 2


@pytest.mark.parametrize("ending", [Ending.DONE, Ending.FAILED, Ending.TAKEN, Ending.TOO_LONG, Ending.TOO_MANY_CALLS])
def test_an_item_whose_try_came_to_an_end_is_closed(ending: Ending) -> None:
    schedule = make(1)
    assert schedule.end(schedule.start(ONE, 0.0), ending, 1.0) is Step.CLOSED
    assert schedule.is_finished


@pytest.mark.parametrize(("ending", "tries"), [(Ending.KILLED, 3), (Ending.LOST, 10)])
def test_an_item_that_is_lost_is_tried_again_so_often(ending: Ending, tries: int) -> None:
    schedule = make(1)
    steps = [schedule.end(schedule.start(ONE, 0.0), ending, 1.0) for _ in range(tries)]
    assert steps == [Step.AGAIN] * (tries - 1) + [Step.GIVEN_UP]
    assert schedule.closed == {ITEMS[0]: ending}


def test_tries_of_an_earlier_call_count() -> None:
    schedule = Schedule([(ITEMS[0], ONE)], Rules(tries=3), {ITEMS[0]: {Ending.KILLED: 2, Ending.DONE: 5}})
    assert schedule.end(schedule.start(ONE, 0.0), Ending.KILLED, 1.0) is Step.GIVEN_UP
    assert schedule.endings[ITEMS[0]].total() == 3


def test_a_second_try_begins_only_of_what_is_slow_and_what_comes_first_counts() -> None:
    schedule = make(2)
    first, other = (schedule.start(ONE, 0.0) for _ in range(2))
    room = {ONE: True}
    assert schedule.start_second(1e6, room) is None  # no item has ended: nobody knows how long one takes
    schedule.end(other, Ending.DONE, 30.0)  # three times what was expected
    slow = SLOW * 3 * first.item.expected_seconds
    assert schedule.start_second(slow, room) is None
    assert schedule.start_second(slow + 1, {ONE: False}) is None
    second = schedule.start_second(slow + 1, room)
    assert second is not None
    assert (second.item, second.is_second) == (first.item, True)
    assert schedule.start_second(1e6, room) is None  # there are two
    assert schedule.end(second, Ending.KILLED, 1.0) is Step.WAITS
    third = schedule.start_second(1e6, room)
    assert third is not None
    assert schedule.end(third, Ending.DONE, 1.0) is Step.CLOSED
    assert schedule.drop_others(first.item) == [first]
    assert schedule.end(first, Ending.DONE, 1.0) is Step.TOO_LATE
    assert schedule.is_finished


def test_a_machine_that_does_not_end_an_item_at_its_limit_does_not_answer() -> None:
    schedule = make(2, limit_seconds=100.0)
    first, second = schedule.start(ONE, 0.0), schedule.start(ONE, 50.0)
    assert list(schedule.find_frozen(FROZEN * 100 - 1)) == []
    assert list(schedule.find_frozen(FROZEN * 100)) == [first]
    assert list(schedule.find_frozen(FROZEN * 100)) == []
    schedule.end(second, Ending.DONE, 1.0)
    assert list(schedule.find_frozen(1e9)) == []


def test_what_is_left_follows_from_what_items_took() -> None:
    schedule = make()
    a, _ = schedule.start(ONE, 0.0), schedule.start(ONE, 0.0)
    assert schedule.expect_remaining(10.0) is None  # nothing has ended
    schedule.end(a, Ending.DONE, 80.0)  # twice the expected 40
    # open: 20 + 10, and 30 of which 40 s have passed; all take twice as long, on two workers
    assert schedule.expect_remaining(40.0) == pytest.approx((2 * 30 + 2 * 30 - 40) / 2)


def test_durations_are_said_as_exactly_as_an_estimate_allows() -> None:
    said = [say_duration(seconds) for seconds in range(0, 400_000, 7)]
    assert len(set(said)) < 70
    assert not any("0.0" in text or text.startswith("about 0") for text in said)
    assert replace(ITEMS[0], expected_seconds=0.0) != ITEMS[0]
