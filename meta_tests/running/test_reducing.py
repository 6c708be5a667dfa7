"""A failing example is made small by setting choices to their simplest, before Hypothesis shrinks it."""

from pathlib import Path

import pytest

from spec_tests.trials.reducing import ReducedChoices, reduce_choices

from ..support.pytest_process import NUMPY, suite, write

ZEROED_TAIL = """
def kv_cache_append(k_cache, v_cache, k, v, lengths):
    caches = k_cache.copy(), v_cache.copy()
    for cache, new in zip(caches, (k, v)):
        for row, start in enumerate(lengths):
            for first in range(0, k.shape[2], 4):
                part = new[row, :, first : first + 4]
                cache[row, :, start + first : start + first + 4] = 0
                cache[row, :, start + first : start + first + part.shape[1]] = part
    return caches
"""


def reduce(numbers: list[int], fails, high: int = 9, tries: int = 1000) -> tuple[list[int] | None, int]:  # type: ignore[no-untyped-def]
    """Return what an example of numbers from 0 to `high` is reduced to, and how many examples were tried."""
    count = 0

    def try_it(choices: ReducedChoices) -> bool:
        nonlocal count
        count += 1
        return bool(fails(lambda: choices.draw_integer(0, high)))

    reduced = reduce_choices(numbers, try_it, lambda: count >= tries)
    return None if reduced is None else list(reduced), count


def test_what_does_not_matter_becomes_the_lowest() -> None:
    def fails(draw):  # type: ignore[no-untyped-def]
        drawn = [draw() for _ in range(5)]
        return drawn[1] > 2 and drawn[3] > 0

    assert reduce([7, 8, 1, 9, 4], fails) == ([0, 8, 0, 9, 0], 6 + 2)


def test_a_later_choice_may_allow_an_earlier_one() -> None:
    def fails(draw):  # type: ignore[no-untyped-def]
        size, limit = draw(), draw()
        return size >= limit

    assert reduce([7, 3], fails)[0] == [0, 0]


def test_fewer_or_more_choices_may_follow_a_changed_one() -> None:
    def fails(draw):  # type: ignore[no-untyped-def]
        return sum(draw() for _ in range(draw())) >= 0

    assert reduce([3, 5, 5, 5], fails)[0] == [0]


def test_what_does_not_fail_again_is_left_to_hypothesis() -> None:
    assert reduce([7, 8], lambda draw: draw() > 9) == (None, 1)


def test_other_values_are_tried_where_a_smaller_example_does_not_fail_with_the_same() -> None:
    """Seven of eight seeds fail, whatever the size is; the first fails with the largest size alone."""
    tried = list[int]()

    def fails(choices: ReducedChoices) -> bool:
        size, seed = choices.draw_integer(0, 9), choices.draw_integer(0, 2**32)
        tried.append(size)
        return seed % 8 != 0 or size == 9

    size, seed = reduce_choices([9, 8000], fails, lambda: len(tried) >= 100)
    assert size == 0
    assert seed % 8 != 0


def test_it_ends_with_the_budget() -> None:
    numbers, tried = reduce([9] * 50, lambda draw: [draw() for _ in range(50)], tries=11)
    assert (numbers.count(0), tried) == (10, 11)


@pytest.mark.rotating
def test_a_large_example_becomes_small(tmp_path: Path) -> None:
    """In the time of a failure, Hypothesis alone ends at an example of 32 elements."""
    write(tmp_path, mine=NUMPY + ZEROED_TAIL)
    run = suite(tmp_path, "--backend=mine.py", "--effort=default", "--hypothesis-seed=2", "-k", "kv_cache_append.reference")
    assert "2 of 4 elements are wrong" in run.text
