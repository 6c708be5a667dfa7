"""Tests of the fresh answers on which a region of wrong answers is checked."""

import pytest

from spec_tests.diagnosis.regions.condition import Condition
from spec_tests.diagnosis.regions.conjunction import Conjunction
from spec_tests.diagnosis.regions.facts.of_calls.arguments import Size
from spec_tests.diagnosis.regions.facts.of_calls.batch import BATCH_ENTRIES
from spec_tests.diagnosis.regions.fresh_answers import MIN_ALONE, FreshAnswers
from spec_tests.diagnosis.wish import Wish
from spec_tests.trials.asker import ask_about

from ..support.in_process import backend
from ..support.machine_made_faults import make_operation


def test_a_condition_that_too_few_answers_speak_for_is_not_said() -> None:
    """Two right answers may be right for another reason: each condition is violated alone by some fresh answers."""
    long, square = Condition(Size.of("d"), "above", (16,)), Condition(BATCH_ENTRIES, "is not", (3,))
    operation = make_operation(backend("numpy-cpu"), "rms_norm")
    fresh = FreshAnswers(Conjunction((long, square)), loosely=False)
    ask = ask_about(operation, seed=1)
    for number in range(60):
        batch, size = ((3,), 20) if number < 2 else ((2,), 4 + 20 * (number % 2))
        answer = ask(Wish(sizes={"d": size}, batch=batch))
        assert answer is not None
        fresh.add(answer, fails=number >= 2 and number % 2 == 1)
    assert fresh.alone == {square: 2, long: 29}
    assert (fresh.count.inside, fresh.count.failed) == (29, 29)
    assert not fresh.is_enough
    for _ in range(MIN_ALONE):
        answer = ask(Wish(sizes={"d": 20}, batch=(3,)))
        assert answer is not None
        fresh.add(answer, fails=False)
    assert fresh.is_enough


@pytest.mark.parametrize(("failing", "is_enough"), [(6, True), (3, False)])
def test_plain_calls_inside_of_a_region_are_not_mostly_right(failing: int, is_enough: bool) -> None:
    """Calls that resemble wrong ones fail more often than those that laws draw."""
    fresh = FreshAnswers(Conjunction((Condition(Size.of("d"), "above", (16,)),)), loosely=True)
    ask = ask_about(make_operation(backend("numpy-cpu"), "rms_norm"), seed=1)
    for number in range(69):
        fresh.is_plain = number >= 60
        answer = ask(Wish(sizes={"d": 20 if fresh.is_plain or number % 2 else 10}))
        assert answer is not None
        fresh.add(answer, fails=number - 60 < failing if fresh.is_plain else number % 2 == 1)
    assert (fresh.count.outside, fresh.plain.inside, fresh.plain.failed) == (30, 9, failing)
    assert fresh.is_enough == is_enough


@pytest.mark.parametrize("size", [10, 20])
def test_a_region_where_most_calls_fail_otherwise_is_not_said(size: int) -> None:
    """Outside of the region hardly a call is right, or inside most calls raise an exception in place of wrong values."""
    fresh = FreshAnswers(Conjunction((Condition(Size.of("d"), "above", (16,)),)), loosely=False)
    ask = ask_about(make_operation(backend("numpy-cpu"), "rms_norm"), seed=1)
    inside, outside, other = (ask(Wish(sizes={"d": d})) for d in (20, 10, size))
    assert inside is not None
    assert outside is not None
    assert other is not None
    for answer in [inside, outside] * 20:
        fresh.add(answer, fails=answer is inside)
    for _ in range(20):
        fresh.add_other_failure(outside)
        fresh.add_other_failure(inside)
    assert fresh.is_enough
    fresh.add_other_failure(other)
    assert not fresh.is_enough
