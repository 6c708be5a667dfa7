"""What a failure says: the worst of the elements whose error matters most, how many are wrong, and by how much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spec_tests.bounds.expectation import Expectation
from spec_tests.calls.severity import HIDDEN, NOT_FINITE, VISIBLE, severity
from spec_tests.calls.violation import (
    ANSWER,
    EXACT,
    NoAnswer,
    Violation,
    add_fact,
    exceeds_bound,
    format_pair,
    not_repeated,
    sides_differ,
)
from spec_tests.specification.formats import FORMATS

FLOAT32 = FORMATS["float32"]
NAN = math.nan


def fail(result: list[float], value: list[float], error: float) -> tuple[str, dict[str, str]]:
    """Return the first line and the facts of the message about a result."""
    answer, expectation = np.array(result), Expectation(np.array(value), np.full(len(value), error), FLOAT32)
    violation = exceeds_bound(answer, expectation, expectation.accepts(answer))
    return violation.what, dict(violation.facts)


@pytest.mark.parametrize(
    ("result", "what"),
    [
        ([1.5, 1.0, 3.0, 1.0], "2 of 4 elements are wrong; the worst is [2]"),
        ([1.0, 1.0, 1.0, 0.0], "1 of 4 elements are wrong; the worst is [3]"),
        ([9.0, NAN, 1.0, 1.0], "2 of 4 elements are wrong; the worst is [1]"),
        ([1.00002, 1.0, 1.0, 1.5], "2 of 4 elements are wrong; the worst is [3]"),
        ([1.00002, 1.0, 1.00003, 1.0], "2 of 4 elements are wrong; the worst is [2]"),
        ([9.0, math.inf, 9.0, 9.0], "4 of 4 elements are wrong; the worst is [1]"),
    ],
)
def test_the_worst_of_what_matters_most_is_shown(result: list[float], what: str) -> None:
    assert fail(result, [1.0] * 4, 1e-6)[0] == what


def test_the_facts_say_how_far_an_element_is_off() -> None:
    _, facts = fail([1.0, 2.0], [1.0, 2.5], 0.125)
    assert facts == {"expected": "2.5", "got": "2", "error": "0.5 = 4 x the bound, 2.1e+06 ulp of float32", "bound": "0.125"}
    assert fail([1.0, NAN], [1.0, 2.5], 0.125)[1]["error"] == "nan"
    assert fail([1.125 + 2.0**-20], [1.0], 0.125)[1]["error"].startswith("0.125, just above the bound")


def test_near_zero_an_error_in_ulps_says_nothing() -> None:
    assert fail([1.0], [0.0], 0.0)[1]["error"] == "1"
    assert fail([1.0], [1e-9], 1e-3)[1]["error"] == "1 = 1e+03 x the bound"


def test_how_much_an_error_matters() -> None:
    got = np.array([NAN, 1.0, math.inf, 0.3, 1.00005, 2e-25, 1000.05, -math.inf])
    expected = np.array([1.0, NAN, 1.0, 0.1, 1.0, 1e-25, 1000.0, -math.inf])
    levels = [NOT_FINITE, NOT_FINITE, NOT_FINITE, VISIBLE, HIDDEN, HIDDEN, HIDDEN, NOT_FINITE]
    assert severity(got, expected).tolist() == levels
    assert HIDDEN < VISIBLE < NOT_FINITE
    assert severity(np.array([1000.2]), np.array([1000.0])).tolist() == [VISIBLE]


def test_two_numbers_are_told_apart() -> None:
    assert format_pair(1.0, 1.0000000001) == ("1", "1.0000000001")
    assert format_pair(2.0, 2.0) == ("2", "2")
    assert format_pair(np.int64(3), 4) == ("3", "4")


def test_two_sides_differ_where_they_differ_most() -> None:
    a, b, allowed = np.array([1.0, 5.0, NAN, 2.0]), np.array([1.5, 1.0, 7.0, 2.0]), np.array([1.0, 1.0, math.inf, 0.0])
    violation = sides_differ(a, b, allowed, sides=(ANSWER, EXACT))
    assert violation.what == "1 of 4 elements differ; the worst is [1]"
    assert violation.facts == [("expected", "1"), ("got", "5"), ("error", "4 = 4 x the bound"), ("bound", "1")]
    other = sides_differ(a[:2], b[:2], np.full(2, 0.1), sides=(ANSWER, "another one"))
    assert [label for label, _ in other.facts] == ["one side", "the other", "differ by", "bound"]
    assert other.facts[0][1] == "5 (the backend's answer)"
    assert sides_differ(np.array([NAN, 1.0]), np.array([2.0, 9.0]), np.zeros(2), sides=(EXACT, ANSWER)).what.endswith("[0]")


def test_facts_are_added_and_a_failure_that_is_not_repeated_says_so() -> None:
    with pytest.raises(Violation) as raised, add_fact("where", "in the second call"):
        raise Violation("it is wrong", [("got", "1")])
    assert raised.value.facts == [("got", "1"), ("where", "in the second call")]
    lost = NoAnswer("it raised")
    lost.raised = ("KeyError", "a place")
    again = not_repeated(lost)
    assert isinstance(again, NoAnswer)
    assert again.raised == lost.raised
    assert again.facts == [("repeated", "the same inputs did not fail again")]
