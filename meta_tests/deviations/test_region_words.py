"""Tests of the words for the conditions of a region, and of the numbers in them."""

import random

import pytest

from spec_tests.diagnosis.condition import Condition, simplest_between
from spec_tests.diagnosis.region_words import describe_conditions

from ..support.seeds import draw_seed


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([("d", "above", (4096,))], "from d = 4097 on"),
        ([("d", "below", (8,))], "up to d = 7"),
        ([("n", "no multiple", (16,))], "where n is no multiple of 16"),
        ([("d_k", "is", (72, 104))], "where d_k = 72 or 104"),
        ([("with scale", "is", (True,))], "whenever scale is given"),
        ([("rows of mask", "is", (1,))], "with a mask of one row"),
        ([("calls before with these shapes", "above", (0,))], "from the second call with the same shapes on"),
        ([("storage", "is", ("transposed",))], "where arrays are stored transposed"),
        ([("n", "no multiple", (16,)), ("n", "above", (16,))], "from n = 17 on, where n is no multiple of 16"),
        ([("d", "no multiple", (2,)), ("n", "is", (3,))], "where d is odd and n = 3"),
        ([("ignore_index among the entries of targets", "is", (True,))], "where an entry of targets is ignore_index"),
        ([("0 among the entries of targets", "is", (False,))], "where no entry of targets is 0"),
    ],
)
def test_words_for_conditions_on_calls(conditions: list[tuple[str, str, tuple[object, ...]]], words: str) -> None:
    assert describe_conditions([Condition(*condition) for condition in conditions], []) == words


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (("row", "above", (47,)), "in rows 48 and up"),
        (("batch entry", "above", (0,)), "in every batch entry but the first"),
        (("head of its group", "above", (0,)), "in each head but the first of its group"),
        (("x", "below", (-13.0,)), "where x < -13"),
        (("the largest entry of a row of x", "above", (88.0,)), "where the largest entry of the row of x > 88"),
        (("column from the end", "is", (0,)), "in the last column"),
        (("column − row", "above", (0,)), "above the diagonal"),
    ],
)
def test_words_for_conditions_on_elements(condition: tuple[str, str, tuple[object, ...]], words: str) -> None:
    assert describe_conditions([], [Condition(*condition)]) == words


def test_the_simplest_number_between_two_is_between_them() -> None:
    seed = draw_seed("simplest")
    source = random.Random(seed)
    for _ in range(2000):
        low, high = sorted(source.choice((-1, 1)) * 10 ** source.uniform(-320, 308) for _ in range(2))
        assert low == high or low <= simplest_between(low, high) < high, (seed, low, high)
    assert simplest_between(-13.002, -12.998) == -13
    assert simplest_between(87.2, 88.6) == 88
