"""The conditions that regions of wrong answers are made of: where each holds, which are found, and what each is called."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spec_tests.diagnosis.regions.condition import KINDS, Condition
from spec_tests.diagnosis.regions.facts.fact import Fact
from spec_tests.diagnosis.regions.facts.of_calls.argument_axes import Axes
from spec_tests.diagnosis.regions.facts.of_calls.arguments import BATCH_DIMENSIONS, EMPTY, WITH_OPTIONS, Option, Size, given
from spec_tests.diagnosis.regions.facts.of_calls.axis import AFTER, BEFORE, FIRST, LAST, MIDDLE, NEGATIVE, RANK
from spec_tests.diagnosis.regions.facts.of_calls.batch import BATCH_ENTRIES
from spec_tests.diagnosis.regions.facts.of_calls.calls_before import FLAGS, CallsBefore
from spec_tests.diagnosis.regions.facts.of_calls.compared_sizes import equal, larger
from spec_tests.diagnosis.regions.facts.of_calls.integer_entries import equal_entries
from spec_tests.diagnosis.regions.facts.of_calls.lengths import FULL_CACHE, UNUSED_COLUMNS, equal_lengths
from spec_tests.diagnosis.regions.facts.of_calls.mask_rows import MaskRows
from spec_tests.diagnosis.regions.facts.of_calls.memory import DTYPE, LAYOUT
from spec_tests.diagnosis.regions.facts.of_calls.result_shape import COLUMNS
from spec_tests.diagnosis.regions.facts.of_calls.values import HoldsMinusInfinity, HoldsNaN, IsFinite, largest_magnitude
from spec_tests.diagnosis.regions.facts.of_elements import ElementFact
from spec_tests.diagnosis.regions.facts.of_elements.argument_values import ValueAt, of_row
from spec_tests.diagnosis.regions.facts.of_elements.blocks import beyond_columns
from spec_tests.diagnosis.regions.facts.of_elements.heads import HEAD_OF_GROUP
from spec_tests.diagnosis.regions.facts.of_elements.indices import BATCH_ENTRY, COLUMN, ROW, from_the_end
from spec_tests.diagnosis.regions.facts.of_elements.parts import GRADIENT, RESULT
from spec_tests.diagnosis.regions.facts.of_elements.rows import DIAGONAL
from spec_tests.diagnosis.regions.met_conditions import list_conditions, list_element_conditions
from spec_tests.diagnosis.regions.values import is_integer, is_number, join, simplest_between
from spec_tests.diagnosis.regions.words import describe_conditions

D, N, SCALE = Size.of("d"), Size.of("n"), Option.of("scale")

NAN = math.nan

HOLDS: list[tuple[str, tuple[Any, ...], list[Any], list[Any]]] = [
    # kind, values, what meets it, what does not
    ("above", (4,), [5, 4.5, 1000, np.int64(5)], [4, 3, -9, 4.0, True, "5", None, NAN]),
    ("below", (4,), [3, 0, -9, 3.5], [4, 5, 4.0, False, "3", None, NAN]),
    ("no multiple", (4,), [1, 2, 3, 5, -1], [0, 4, 8, "x"]),
    ("multiple", (4,), [4, 8, -4], [0, 1, 2, 5, "x"]),
    ("remainder", (4, 1), [1, 5, -3], [0, 2, 4, "x"]),
    ("power of two", (), [2, 4, 8, 1024], [0, 1, 3, 6, 1023, -2, "x"]),
    ("no power of two", (), [3, 5, 6, 7, 1023], [0, 1, 2, 4, 1024, -3, "x"]),
    ("is", (3, "a"), [3, "a"], [4, "b", 3.0, True, None]),
    ("is", (True,), [True], [False, 1, 1.0, "True"]),
    ("is not", (3, "a"), [4, "b", 3.0, None], [3, "a"]),
]


@pytest.mark.parametrize(("kind", "values", "inside", "outside"), HOLDS)
def test_where_a_condition_holds(kind: str, values: tuple[Any, ...], inside: list[Any], outside: list[Any]) -> None:
    condition = Condition(N, kind, values)
    assert [value for value in inside if not condition.holds(value)] == []
    assert [value for value in outside if condition.holds(value)] == []


def test_every_kind_is_tried_here() -> None:
    assert {kind for kind, *_ in HOLDS} == KINDS.keys()


@pytest.mark.parametrize(("kind", "values", "inside", "outside"), [case for case in HOLDS if KINDS[case[0]].numeric])
def test_where_a_condition_on_elements_holds(kind: str, values: Any, inside: list[Any], outside: list[Any]) -> None:
    numbers = [[x for x in side if is_number(x) and x == x] for side in (inside, outside)]
    array = np.array([*numbers[0], *numbers[1], NAN], dtype=float)
    held = Condition(COLUMN, kind, values).holds_each(array)
    assert held.tolist() == [True] * len(numbers[0]) + [False] * len(numbers[1]) + [False]


def test_names_are_held_by_elements_too() -> None:
    names = np.array(["q", "k", "v"])
    assert Condition(GRADIENT, "is", ("q", "v")).holds_each(names).tolist() == [True, False, True]
    assert Condition(GRADIENT, "is not", ("q",)).holds_each(names).tolist() == [False, True, True]


def test_what_is_simple_is_said_first() -> None:
    ranks = [
        Condition(N, kind, values).rank
        for kind, values in (("above", (1,)), ("is", (1,)), ("is", (1, 2, 3)), ("remainder", (4, 1)))
    ]
    assert ranks == [1, 1, 3, 3]
    assert Condition(N, "is not", (1,)).rank == Condition(N, "multiple", (2,)).rank == 2


def test_numbers_are_no_truth_values() -> None:
    assert [is_number(x) for x in (1, 1.0, np.int8(1), np.float32(1), True, np.True_, "1", None)] == [True] * 4 + [False] * 4
    assert [is_integer(x) for x in (1, np.int8(1), 1.0, True)] == [True, True, False, False]
    assert (join([1]), join([1, 2]), join([1, "a", 0.1234567])) == ("1", "1 or 2", "1, a or 0.123457")


@pytest.mark.parametrize(
    ("low", "high", "simplest"),
    [
        (0.3, 0.7, 0.3), (0.31, 0.47, 0.4), (87.9, 88.8, 88.0), (88.1, 92.0, 90.0), (-3.0, 2.0, 0.0), (-3.0, 0.0, -3.0),
        (5.0, 5.0, 5.0), (6.0, 5.0, 6.0), (1e-300, 2e-300, 1e-300), (3.0, math.inf, 3.0), (0.1, 0.10001, 0.1),
        (99.0, 101.0, 100.0), (-0.7, -0.3, -0.6), (12345.0, 12346.0, 12345.0),
    ],
)  # fmt: skip
def test_the_simplest_number_in_an_interval(low: float, high: float, simplest: float) -> None:
    found = simplest_between(low, high)
    assert low == found or low <= found < high
    assert found == pytest.approx(simplest, rel=1e-9)


# --- conditions that are found ---------------------------------------------------------------------------------------


def find(fact: Fact, inside: list[Any], outside: list[Any]) -> set[tuple[str, tuple[Any, ...]]]:
    return {(condition.kind, condition.values) for condition in list_conditions(fact, inside, outside)}


@pytest.mark.parametrize(
    ("fact", "inside", "outside", "expected", "unexpected"),
    [
        (D, [9, 12], [1, 8, 20], {("above", (8,)), ("below", (20,))}, {"power of two"}),
        (D, [9, 12], [8, 3], {("above", (8,))}, {"below"}),
        (D, [3, 5, 9], [2, 4], {("no multiple", (2,)), ("above", (2,))}, {"multiple", "below"}),
        (D, [4, 8, 12], [5, 7], {("multiple", (4,)), ("multiple", (2,))}, {"above", "below"}),
        (D, [4], [5, 7], {("below", (5,))}, {"multiple"}),
        (D, [7], [3, 9], {("is", (7,))}, {"power of two"}),
        (D, [7], [6, 9], {("above", (6,))}, set()),
        (D, [4, 8, 16], [3, 5, 12], {("power of two", ())}, {"no power of two"}),
        (D, [3, 5, 12], [4, 8, 16], {("no power of two", ())}, {"power of two"}),
        (D, [3, 5, 12], [4, 8], set(), {"no power of two"}),
        (D, [5, 8], [4, 6, 7], {("remainder", (3, 2))}, set()),
        (Option.of("layout"), ["halves"], ["interleaved"], {("is", ("halves",))}, {"above", "below"}),
        (Option.of("flag"), [True], [False], {("is", (True,))}, {"above", "below", "is not"}),
        (Option.of("name"), ["a", "b"], ["c"], {("is", ("a", "b")), ("is not", ("c",))}, set()),
        (Option.of("name"), list("abcde"), ["x"], {("is not", ("x",))}, {"is"}),
        (largest_magnitude("x"), [5.0, 7.0], [1.0, 9.0], {("above", (1.0,)), ("below", (9.0,))}, {"is", "is not", "multiple"}),
        (CallsBefore.of("calls before"), [3, 4], [0, 1, 9], {("above", (1,))}, {"below", "is"}),
        (CallsBefore.of("calls before"), [0], [1, 2], {("below", (1,))}, {"is"}),
    ],
)
def test_the_conditions_that_separate_wrong_calls_from_right_ones(
    fact: Fact, inside: list[Any], outside: list[Any], expected: set[Any], unexpected: set[str]
) -> None:
    found = find(fact, inside, outside)
    assert expected <= found
    assert not unexpected & {kind for kind, _ in found}
    conditions = list(list_conditions(fact, inside, outside))
    assert all(condition.holds(value) for condition in conditions for value in inside)


def test_a_fact_that_a_wrong_call_lacks_is_no_condition() -> None:
    assert find(D, [9, "no such fact"], [1]) == set()
    assert find(D, [], [1]) == find(D, [1], []) == set()


def find_of_elements(fact: ElementFact, values: Any, wrong: list[int]) -> set[tuple[str, tuple[Any, ...]]]:
    array = np.array(values)
    mask = np.isin(np.arange(array.size), wrong)
    return {(condition.kind, condition.values) for condition in list_element_conditions(fact, array, mask)}


@pytest.mark.parametrize(
    ("fact", "values", "wrong", "expected", "unexpected"),
    [
        (COLUMN, [0, 1, 2, 3], [2, 3], {("above", (1,))}, {"below", "is"}),
        (COLUMN, [0, 1, 2, 3], [0], {("below", (1,)), ("is", (0,))}, {"above"}),
        (COLUMN, [0, 1, 2, 3], [1, 3], {("remainder", (2, 1))}, {"is"}),
        (ValueAt.of("x"), [-2.0, 0.0, 1.0, 3.0], [2, 3], {("above", (0.0,))}, {"remainder"}),
        (ValueAt.of("x"), [-2.0, -1.0, 1.0, 3.0], [2, 3], {("above", (-1.0,)), ("above", (0.0,))}, set()),
        (ValueAt.of("x"), [-2.0, -1.0, 1.0, 3.0], [0, 1], {("below", (1.0,)), ("below", (0.0,))}, set()),
        (ValueAt.of("x"), [1.0, 2.0, 0.5], [1], {("above", (1.0,)), ("is", (2.0,))}, set()),
        (ValueAt.of("x"), [1.0, 2.5, 0.5], [1], {("above", (1.0,))}, {"is"}),
        (ValueAt.of("x"), [1.0, math.inf, 0.5], [1], {("is", (math.inf,))}, set()),
        (ValueAt.of("x"), [1.0, NAN, 0.5], [1], set(), {"above", "below", "is"}),
        (ValueAt.of("x"), [1.0, 1e-310, 3.0], [0], {("below", (3.0,))}, {"above"}),
        (GRADIENT, ["q", "k", "v"], [0, 2], {("is", ("q", "v"))}, {"above"}),
        (beyond_columns(8), [False, False, True], [2], {("is", (True,))}, {"above"}),
    ],
)
def test_the_conditions_that_separate_wrong_elements_from_right_ones(
    fact: ElementFact, values: list[Any], wrong: list[int], expected: set[Any], unexpected: set[str]
) -> None:
    found = find_of_elements(fact, values, wrong)
    assert expected <= found
    assert not unexpected & {kind for kind, _ in found}


# --- words -----------------------------------------------------------------------------------------------------------

OF_CALLS: list[tuple[tuple[Fact, str, tuple[Any, ...]], str]] = [
    ((D, "above", (8,)), "from d = 9 on"),
    ((SCALE, "above", (0.5,)), "where scale exceeds 0.5"),
    ((D, "below", (8,)), "up to d = 7"),
    ((D, "below", (2,)), "where d = 1"),
    ((SCALE, "below", (0.5,)), "where scale is below 0.5"),
    ((D, "no multiple", (2,)), "where d is odd"),
    ((D, "no multiple", (8,)), "where d is no multiple of 8"),
    ((D, "multiple", (2,)), "where d is even"),
    ((D, "multiple", (8,)), "where d is a multiple of 8"),
    ((D, "remainder", (4, 1)), "where d is 1 more than a multiple of 4"),
    ((D, "power of two", ()), "where d is a power of two"),
    ((D, "no power of two", ()), "where d is no power of two"),
    ((D, "is", (3,)), "where d = 3"),
    ((Option.of("layout"), "is not", ("halves",)), "where layout is not halves"),
    ((DTYPE, "is", ("float16", "bfloat16")), "in float16 or bfloat16"),
    ((LAYOUT, "is not", ("transposed",)), "where arrays are not stored transposed"),
    ((given("mask"), "is", (True,)), "whenever mask is given"),
    ((given("mask"), "is", (False,)), "whenever no mask is given"),
    ((given("mask"), "is not", (True,)), "whenever no mask is given"),
    ((EMPTY, "is", (True,)), "where an array is empty"),
    ((EMPTY, "is", (False,)), "where no array is empty"),
    ((WITH_OPTIONS, "is", (True,)), "with any optional argument"),
    ((WITH_OPTIONS, "is not", (True,)), "without optional arguments"),
    ((LAST, "is", (True,)), "where axis is the last one"),
    ((FIRST, "is", (False,)), "where axis is not the first one"),
    ((MIDDLE, "is", (True,)), "where axis is neither the first nor the last"),
    ((NEGATIVE, "is", (False,)), "where axis is not negative"),
    ((RANK, "above", (2,)), "where the argument has 3 axes or more"),
    ((BEFORE, "below", (2,)), "where the batch before the axis has one entry at most"),
    ((AFTER, "is", (1,)), "where the batch after the axis has one entry"),
    ((equal_lengths(), "is", (True,)), "where all lengths are equal"),
    ((equal_lengths(" of q"), "is", (False,)), "where lengths of q differ"),
    ((FULL_CACHE, "is", (True,)), "where a sequence fills the cache"),
    ((UNUSED_COLUMNS, "is", (False,)), "where the table has no unused columns"),
    ((equal_entries("mask"), "is", (True,)), "where all batch entries of mask are equal"),
    ((equal_entries("mask"), "is", (False,)), "where batch entries of mask differ"),
    ((equal("n", "m"), "is", (True,)), "where n = m"),
    ((equal("n", "m"), "is", (False,)), "where n ≠ m"),
    ((larger("n", "m"), "is", (True,)), "where n > m"),
    ((larger("n", "m"), "is", (False,)), "where n ≤ m"),
    ((larger("batch entries", "d"), "is", (True,)), "where the number of batch entries > d"),
    ((HoldsMinusInfinity.of("−∞ in x", "−∞", "x"), "is", (True,)), "where x holds −∞"),
    ((HoldsNaN.of("NaN in x", "NaN", "x"), "is", (False,)), "where x holds no NaN"),
    ((IsFinite.of("x is finite"), "is", (True,)), "where x is finite"),
    ((IsFinite.of("x is finite"), "is", (False,)), "where x holds NaN or an infinity"),
    ((Option.of("is_causal"), "is", (True,)), "where is_causal = True"),
    ((Option.of("is_causal"), "is not", (True,)), "where is_causal = False"),
    ((BATCH_DIMENSIONS, "above", (0,)), "with a batch"),
    ((BATCH_DIMENSIONS, "above", (1,)), "where the batch has 2 dimensions or more"),
    ((BATCH_DIMENSIONS, "below", (1,)), "without a batch"),
    ((BATCH_DIMENSIONS, "is", (0,)), "without a batch"),
    ((BATCH_DIMENSIONS, "is", (1,)), "where the batch has one dimension"),
    ((BATCH_DIMENSIONS, "is", (1, 2)), "where the batch has one or 2 dimensions"),
    ((BATCH_DIMENSIONS, "is not", (1,)), "where the batch has not 1 dimensions"),
    ((BATCH_DIMENSIONS, "below", (3,)), "where the batch has fewer than 3 dimensions"),
    ((BATCH_ENTRIES, "no multiple", (2,)), "where the batch has an odd number of entries"),
    ((BATCH_ENTRIES, "no multiple", (4,)), "where the batch has a number of entries that is no multiple of 4"),
    ((BATCH_ENTRIES, "multiple", (2,)), "where the batch has an even number of entries"),
    ((BATCH_ENTRIES, "multiple", (4,)), "where the batch has a number of entries that is a multiple of 4"),
    ((BATCH_ENTRIES, "remainder", (4, 3)), "where the batch has a number of entries that is 3 more than a multiple of 4"),
    ((BATCH_ENTRIES, "power of two", ()), "where the batch has a number of entries that is a power of two"),
    ((MaskRows.of("rows of mask", "mask"), "is", (1,)), "with a mask of one row"),
    ((MaskRows.of("rows of mask", "mask"), "below", (2,)), "with a mask of one row"),
    ((MaskRows.of("rows of mask", "mask"), "above", (1,)), "where the mask has 2 rows or more"),
    ((Axes.of("axes of x", "the x", "axis", "axes"), "above", (0,)), "where the x has an axis"),
    ((COLUMNS, "above", (0,)), "where the result has a column"),
    ((CallsBefore.of("calls before"), "above", (0,)), "from the second call on"),
    ((CallsBefore.of("calls before"), "above", (2,)), "from the fourth call on"),
    ((CallsBefore.of("calls before"), "above", (3,)), "from the 5th call on"),
    ((CallsBefore.of("calls before"), "below", (1,)), "in the first call"),
    ((CallsBefore.of("calls before"), "below", (3,)), "in the first 3 calls"),
    ((CallsBefore.of("calls before"), "is", (0,)), "in the first call"),
    ((CallsBefore.of("calls before"), "is", (2,)), "in call 3"),
    ((CallsBefore.of("calls before"), "remainder", (2, 1)), "in every second call"),
    ((CallsBefore.of("calls before"), "no multiple", (2,)), "in every second call"),
    ((CallsBefore.of("calls before"), "no multiple", (3,)), "in calls but each 3th"),
    (
        (CallsBefore.of("calls before with a result of this shape"), "above", (0,)),
        "from the second call with a result of the same shape on",
    ),
    ((CallsBefore.of("calls before with x of this shape"), "above", (0,)), "from the second call with the same shape of x on"),
    ((FLAGS["the call before had these shapes"], "is", (True,)), "where the call before had the same shapes"),
    ((FLAGS["a wider call came before"], "is", (True,)), "after a call with longer rows"),
]


@pytest.mark.parametrize(("condition", "words"), OF_CALLS)
def test_the_words_for_a_condition_on_calls(condition: tuple[Fact, str, tuple[Any, ...]], words: str) -> None:
    assert describe_conditions([Condition(*condition)], []) == words


OF_ELEMENTS: list[tuple[tuple[Fact, str, tuple[Any, ...]], str]] = [
    ((COLUMN, "above", (0,)), "in every column but the first"),
    ((COLUMN, "above", (7,)), "in columns 8 and up"),
    ((COLUMN, "below", (1,)), "in the first column"),
    ((COLUMN, "below", (4,)), "in the first 4 columns"),
    ((COLUMN, "is", (3,)), "in column 3"),
    ((COLUMN, "remainder", (2, 1)), "in every second column, from 1 on"),
    ((from_the_end(ROW), "is", (0,)), "in the last row"),
    ((from_the_end(ROW), "below", (1,)), "in the last row"),
    ((from_the_end(ROW), "below", (3,)), "in the last 3 rows"),
    ((from_the_end(ROW), "above", (0,)), "in every row but the last"),
    ((from_the_end(ROW), "above", (2,)), "in every row but the last 3"),
    ((from_the_end(ROW), "remainder", (2, 0)), "in every second row, counted from the last"),
    ((BATCH_ENTRY, "below", (2,)), "in the first 2 batch entries"),
    ((HEAD_OF_GROUP, "is", (2,)), "in the heads with index 2 in their group"),
    ((beyond_columns(16), "is", (True,)), "in the columns after the last whole block of 16"),
    ((beyond_columns(16), "is", (False,)), "in the columns of the whole blocks of 16"),
    ((DIAGONAL, "above", (0,)), "above the diagonal"),
    ((DIAGONAL, "above", (2,)), "where column − row is at least 3"),
    ((DIAGONAL, "below", (0,)), "below the diagonal"),
    ((DIAGONAL, "below", (-2,)), "where column − row is at most -3"),
    ((DIAGONAL, "is", (0,)), "on the diagonal"),
    ((DIAGONAL, "is", (1,)), "where column − row is 1"),
    ((GRADIENT, "is", ("q", "k")), "in the gradient of q or k"),
    ((RESULT, "is", ("lse",)), "in the result lse"),
    ((ValueAt.of("x"), "above", (1.5,)), "where x > 1.5"),
    ((ValueAt.of("x"), "below", (-1.5,)), "where x < -1.5"),
    ((ValueAt.of("x"), "is", (0.0,)), "where x is 0"),
    ((ValueAt.of("targets"), "remainder", (2, 1)), "where targets is odd"),
    ((ValueAt.of("targets"), "remainder", (2, 0)), "where targets is even"),
    ((ValueAt.of("targets"), "remainder", (4, 3)), "where targets is 3 more than a multiple of 4"),
    ((ValueAt.of("targets"), "remainder", (4, 0)), "where targets is a multiple of 4"),
    ((of_row("smallest entry of", "x"), "below", (0.0,)), "where the smallest entry of the row of x < 0"),
]


@pytest.mark.parametrize(("condition", "words"), OF_ELEMENTS)
def test_the_words_for_a_condition_on_elements(condition: tuple[Fact, str, tuple[Any, ...]], words: str) -> None:
    assert describe_conditions([], [Condition(*condition)]) == words


def test_conditions_are_joined() -> None:
    calls = [Condition(D, "above", (8,)), Condition(N, "is", (3,)), Condition(Size.of("m"), "no multiple", (2,))]
    elements = [Condition(COLUMN, "is", (0,)), Condition(ROW, "is", (1,))]
    assert describe_conditions(calls, elements) == "from d = 9 on, where n = 3 and m is odd, in column 0 and in row 1"
    assert describe_conditions([], []) == "in nearly every call"
    block = [Condition(beyond_columns(16), "is", (True,)), Condition(COLUMN, "above", (15,))]
    assert describe_conditions([], block) == "in the columns after the last whole block of 16"
