"""Tests of the words for the conditions of a region, and of the numbers in them."""

import random

import pytest

from spec_tests.diagnosis.regions.condition import Condition
from spec_tests.diagnosis.regions.facts.fact import Fact
from spec_tests.diagnosis.regions.facts.of_calls.arguments import Size, given
from spec_tests.diagnosis.regions.facts.of_calls.calls_before import CallsBefore
from spec_tests.diagnosis.regions.facts.of_calls.integer_entries import index_among
from spec_tests.diagnosis.regions.facts.of_calls.mask_rows import MaskRows
from spec_tests.diagnosis.regions.facts.of_calls.memory import LAYOUT
from spec_tests.diagnosis.regions.facts.of_elements.argument_values import ValueAt, of_row
from spec_tests.diagnosis.regions.facts.of_elements.heads import HEAD_OF_GROUP
from spec_tests.diagnosis.regions.facts.of_elements.indices import BATCH_ENTRY, COLUMN, ROW, from_the_end
from spec_tests.diagnosis.regions.facts.of_elements.rows import DIAGONAL
from spec_tests.diagnosis.regions.values import simplest_between
from spec_tests.diagnosis.regions.words import describe_conditions

from ..support.seeds import draw_seed


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        ([(Size.of("d"), "above", (4096,))], "from d = 4097 on"),
        ([(Size.of("d"), "below", (8,))], "up to d = 7"),
        ([(Size.of("n"), "no multiple", (16,))], "where n is no multiple of 16"),
        ([(Size.of("d_k"), "is", (72, 104))], "where d_k = 72 or 104"),
        ([(Size.of("limit"), "is", (None,))], "where limit is not given"),
        ([(Size.of("limit"), "is not", (None,)), (Size.of("d"), "is", (3,))], "where limit is given and d = 3"),
        ([(given("scale"), "is", (True,))], "whenever scale is given"),
        ([(MaskRows.of("rows of mask", "mask"), "is", (1,))], "with a mask of one row"),
        ([(CallsBefore.of("calls before with these shapes"), "above", (0,))], "from the second call with the same shapes on"),
        ([(LAYOUT, "is", ("transposed",))], "where arrays are stored transposed"),
        ([(Size.of("n"), "no multiple", (16,)), (Size.of("n"), "above", (16,))], "from n = 17 on, where n is no multiple of 16"),
        ([(Size.of("d"), "no multiple", (2,)), (Size.of("n"), "is", (3,))], "where d is odd and n = 3"),
        ([(index_among("ignore_index", "targets"), "is", (True,))], "where an entry of targets is ignore_index"),
        ([(index_among("0", "targets"), "is", (False,))], "where no entry of targets is 0"),
    ],
)
def test_words_for_conditions_on_calls(conditions: list[tuple[Fact, str, tuple[object, ...]]], words: str) -> None:
    assert describe_conditions([Condition(*condition) for condition in conditions], []) == words


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ((ROW, "above", (47,)), "in rows 48 and up"),
        ((BATCH_ENTRY, "above", (0,)), "in every batch entry but the first"),
        ((HEAD_OF_GROUP, "above", (0,)), "in each head but the first of its group"),
        ((ValueAt.of("x"), "below", (-13.0,)), "where x < -13"),
        ((of_row("largest entry of", "x"), "above", (88.0,)), "where the largest entry of the row of x > 88"),
        ((from_the_end(COLUMN), "is", (0,)), "in the last column"),
        ((DIAGONAL, "above", (0,)), "above the diagonal"),
    ],
)
def test_words_for_conditions_on_elements(condition: tuple[Fact, str, tuple[object, ...]], words: str) -> None:
    assert describe_conditions([], [Condition(*condition)]) == words


def test_the_simplest_number_between_two_is_between_them() -> None:
    seed = draw_seed("simplest")
    source = random.Random(seed)
    for _ in range(2000):
        low, high = sorted(source.choice((-1, 1)) * 10 ** source.uniform(-320, 308) for _ in range(2))
        assert low == high or low <= simplest_between(low, high) < high, (seed, low, high)
    assert simplest_between(-13.002, -12.998) == -13
    assert simplest_between(87.2, 88.6) == 88
