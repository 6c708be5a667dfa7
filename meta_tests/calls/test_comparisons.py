"""The meanings of "equal" that laws have: which pairs each assertion takes for equal, with errors, NaN, infinities and zeros."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.calls.operation import Operation
from spec_tests.calls.recorder import Recorder
from spec_tests.calls.result import WIDE, Result
from spec_tests.calls.violation import Violation
from spec_tests.helpers import assertions
from spec_tests.helpers.states import assert_dtypes
from spec_tests.specification.registry import specification

from ..support.in_process import backend

NAN, INF = math.nan, math.inf


def numbers(value: Any, error: Any = 0.0) -> Bounded:
    return Bounded(np.atleast_1d(np.asarray(value, dtype=float)), error, WIDE)


def holds(assertion: Callable[..., None], *arguments: Any, **keywords: Any) -> bool:
    try:
        assertion(*arguments, **keywords)
    except Violation:
        return False
    return True


PAIRS = [
    # left, right, error of both together; equal within errors, the same answer again, identical
    (1.0, 1.0, 0.0, True, True, True),
    (1.0, 1.0000001, 0.0, False, False, False),
    (1.0, 1.5, 0.5, True, True, False),
    (1.0, 1.500001, 0.5, False, False, False),
    (1.0, 0.5, 0.5, True, True, False),
    (0.0, -0.0, 0.0, True, True, True),
    (-0.0, 0.0, 0.0, True, True, True),
    (0.0, 5e-324, 0.0, False, False, False),
    (NAN, NAN, 0.0, False, True, True),
    (NAN, 1.0, 0.0, False, False, False),
    (1.0, NAN, 0.0, False, False, False),
    (NAN, 0.0, 1.0, False, False, False),
    (0.0, NAN, 1.0, False, False, False),
    (NAN, 1.0, INF, True, True, False),
    (INF, INF, 0.0, True, True, True),
    (-INF, -INF, 0.0, True, True, True),
    (INF, -INF, 0.0, False, False, False),
    (INF, 1e308, 1.0, False, False, False),
    (INF, np.finfo(float).max, 0.0, False, False, False),
    (3.0, -3.0, 0.0, False, False, False),
]


@pytest.mark.parametrize(("left", "right", "error", "equal", "same", "identical"), PAIRS)
def test_which_numbers_are_equal(left: float, right: float, error: float, equal: bool, same: bool, identical: bool) -> None:
    for filler in (np.zeros(0), np.array([2.0, NAN])[:1]):
        a = numbers([left, *filler], np.array([error / 2, *0 * filler]))
        b = numbers([right, *filler], np.array([error / 2, *0 * filler]))
        assert holds(assertions.assert_equal, a, b) is equal
        assert holds(assertions.assert_same, a, b) is same
        assert holds(assertions.assert_same, a.value, b) is same
        assert holds(assertions.assert_unmoved, a, b) is same
        assert holds(assertions.assert_identical, a, b) is identical
        assert holds(assertions.assert_identical, a.value, b) is identical


def test_nan_in_another_place_is_another_answer() -> None:
    a, b = numbers([NAN, 1.0], 2.0), numbers([1.0, NAN], 2.0)
    assert not holds(assertions.assert_same, a, b)
    assert not holds(assertions.assert_unmoved, a, b)
    assert not holds(assertions.assert_identical, a, b)
    shared = numbers([NAN, 1.0]), numbers([NAN, 2.0])
    assert not holds(assertions.assert_same, *shared)
    assert not holds(assertions.assert_identical, *shared)


def test_nan_with_other_bits_is_nan() -> None:
    other = np.array([np.uint64(0xFFF8000000000001)]).view(np.float64)
    assert holds(assertions.assert_identical, numbers(other), numbers(NAN))


def test_identical_arrays_have_one_shape() -> None:
    x = np.arange(6.0)
    assert not holds(assertions.assert_identical, x.reshape(2, 3), x.reshape(3, 2))
    assert not holds(assertions.assert_identical, x.reshape(1, 6), x)
    assert not holds(assertions.assert_identical, x, x.reshape(1, 6))
    assert holds(assertions.assert_identical, x, x.copy())


def test_unmoved_looks_at_the_places_that_are_named() -> None:
    a, b = numbers([1.0, 2.0]), numbers([1.0, 3.0])
    assert holds(assertions.assert_unmoved, a, b, np.array([True, False]))
    assert not holds(assertions.assert_unmoved, a, b, np.array([False, True]))


@pytest.mark.parametrize(
    ("value", "error", "is_zero", "is_all_zero"),
    [
        (0.0, 0.0, True, True),
        (-0.0, 0.0, True, True),
        (1e-30, 0.0, False, False),
        (1e-30, 1.0, False, False),
        (NAN, 0.0, False, False),
        (NAN, INF, True, False),
        (5.0, INF, True, False),
        (0.0, INF, True, True),
    ],
)
def test_what_is_zero(value: float, error: float, is_zero: bool, is_all_zero: bool) -> None:
    x = numbers([value, 7.0], np.array([error, 0.0]))
    there = np.array([True, False])
    assert holds(assertions.assert_zero, x, there) is is_zero
    assert holds(assertions.assert_all_zero, x, there) is is_all_zero
    assert not holds(assertions.assert_zero, x)
    assert not holds(assertions.assert_all_zero, x)


@pytest.mark.parametrize(
    ("x", "error", "is_within"),
    [(0.5, 0.0, True), (0.0, 0.0, True), (1.0, 0.0, True), (1.01, 0.0, False), (-0.01, 0.0, False), (1.01, 0.02, True),
     (-0.01, 0.02, True), (1.05, 0.02, False), (INF, 0.0, False), (-INF, 0.0, False), (NAN, 0.0, False)],
)  # fmt: skip
def test_what_is_within_limits(x: float, error: float, is_within: bool) -> None:
    assert holds(assertions.assert_within, numbers(x, error), 0.0, 1.0) is is_within


def test_limits_have_errors_too() -> None:
    assert holds(assertions.assert_within, numbers(1.2), numbers(0.0), numbers(1.0, 0.25))
    assert holds(assertions.assert_within, numbers(-0.2), numbers(0.0, 0.25), numbers(1.0))
    assert not holds(assertions.assert_within, numbers(1.3), numbers(0.0), numbers(1.0, 0.25))


@pytest.mark.parametrize(("value", "is_finite"), [(1e308, True), (NAN, False), (INF, False), (-INF, False)])
def test_what_is_finite(value: float, is_finite: bool) -> None:
    assert holds(assertions.assert_finite, numbers([0.0, value])) is is_finite
    assert holds(assertions.assert_finite, np.array([0.0, value])) is is_finite


def test_a_condition_that_does_not_hold_says_what() -> None:
    assert holds(assertions.assert_true, True, "never")
    with pytest.raises(Violation, match="it is 3") as raised:
        assertions.assert_true(False, "it is 3", expected=4)
    assert raised.value.facts == [("expected", "4")]


# --- answers and the oracle ------------------------------------------------------------------------------------------


class Telling(Recorder):
    """Keeps what it is told of comparisons."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, float, bool]] = []
        self.is_asked = True

    def wants_share(self, precision: str) -> bool:
        return self.is_asked

    def add_comparison(self, precision: str, share: np.ndarray, claimed: np.ndarray, result: Result) -> None:
        self.told.append((precision, float(np.max(share)), bool(np.all(claimed))))


def answered(values: Any, name: str = "silu", dtype: str = "bfloat16", precision: str = "eager") -> Result:
    """Return the result of a call at 1, 2 and 3 that was answered with these values."""
    tested = Operation(specification(name), backend("numpy-cpu"), dtype, precision)
    call = tested.call(np.array([1.0, 2.0, 3.0]))
    call.observed = np.asarray(values, dtype=float)
    return Result(call.observed, call)


def test_an_answer_conforms_if_every_element_does() -> None:
    right = answered([0, 0, 0]).call.value
    for place in range(3):
        for wrong in (NAN, INF, 0.0, right[place] * 1.2):
            values = right.copy()
            values[place] = wrong
            assert not holds(assertions.assert_conforms, answered(values))
    assert holds(assertions.assert_conforms, answered(right))


def test_the_strictest_class_that_an_answer_meets_is_told_with_its_share() -> None:
    right = answered([0, 0, 0]).call
    ends = {precision: right.expectation(precision).ends[1] for precision in ("fused", "mixed", "eager")}
    assert np.any(ends["fused"] < ends["eager"])
    for values, precision in ((right.value, "fused"), (ends["fused"], "fused"), (ends["eager"], "eager")):
        recorder = Telling()
        assertions.assert_conforms(answered(right.storage.round(values)), recorder)
        ((told, share, claimed),) = recorder.told
        assert told == precision
        assert 0 <= share <= 1
        assert claimed
    recorder.is_asked = False
    assertions.assert_conforms(answered(right.storage.round(right.value)), recorder)
    assert len(recorder.told) in (1, 2), "nobody asked; it is told only if the whole bound was derived"


def test_the_loosest_class_is_that_of_the_run() -> None:
    call = answered([0, 0, 0]).call
    values = call.expectation("eager").ends[1]
    assert holds(assertions.assert_conforms, answered(values))
    assert not holds(assertions.assert_conforms, answered(values, precision="fused"))
    assert not holds(assertions.assert_conforms, answered(values, precision="mixed"))


def test_two_answers_may_differ_by_both_of_their_bounds() -> None:
    call = answered([0, 0, 0], dtype="float32", precision="fused").call
    low, high = call.expectation("fused").ends
    allowed = call.expectation("fused").radius * (1 + 2.0**-20)
    assert np.all(Result(low, call).error <= allowed), "two bounds and the oracle's rounding"
    assert holds(assertions.assert_equal, Result(low, call), Result(high, call))
    assert not holds(assertions.assert_equal, Result(low, call), Result(high + 1.1 * (high - low), call))


def test_a_result_s_dtype_is_one_of_those_that_it_may_have() -> None:
    tested = Operation(specification("silu"), backend("numpy-cpu"), "float16", "eager")
    for dtype, is_allowed in (("float16", True), ("float32", False), ("float64", False)):
        call = tested.call(np.ones(3))
        assert holds(assert_dtypes, tested, call, np.ones(3, dtype)) is is_allowed
        assert holds(assert_dtypes, tested, call, np.ones(3, dtype), "float32") is (is_allowed or dtype == "float32")


def test_messages_say_what_each_side_is() -> None:
    result = answered([1.0, 2.0, 3.0])
    assert assertions.describe_side(result) == assertions.describe_side(result[:1]) == "the backend's answer"
    assert assertions.describe_side(result * 2.0) == "computed from the backend's answers"
    assert assertions.describe_side(2.0) == assertions.describe_side(numbers(1.0)) == ""
    with pytest.raises(Violation) as raised:
        assertions.assert_equal(Result(np.full(3, 9.0), result.call), 0.0)
    labels = [label for label, _ in raised.value.facts]
    assert labels == ["expected", "got", "error", "bound"]
    assert raised.value.facts[0][1] == "0"
