"""What an expectation accepts: the ends of its interval, infinities, NaN, zeros of both signs, and what it claims nothing of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spec_tests.bounds.bounded import Bounded
from spec_tests.bounds.choices import Choices, OpenChoice, choose_groups, choose_largest, is_set, judged_by
from spec_tests.bounds.derivation import StagedExpectation, expect
from spec_tests.bounds.expectation import Expectation, Stage
from spec_tests.specification.formats import FORMATS, Arithmetic

FLOAT32, BFLOAT16, FLOAT16 = FORMATS["float32"], FORMATS["bfloat16"], FORMATS["float16"]
NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("value", "error", "answer", "is_accepted"),
    [
        (1.0, 0.0, 1.0, True),
        (1.0, 0.0, float(np.nextafter(np.float32(1), np.float32(2))), False),
        (1.0, 0.0, NAN, False),
        (1.0, INF, NAN, True),
        (1.0, INF, -5.0, True),
        (NAN, 0.0, 7.0, True),
        (INF, 0.0, INF, True),
        (INF, 0.0, -INF, False),
        (INF, 0.0, 3.4e38, False),
        (INF, 0.0, NAN, False),
        (-INF, 0.0, -INF, True),
        (-INF, 0.0, 0.0, False),
        (1.0, 0.5, INF, False),
        (0.0, 0.0, -0.0, True),
        (-0.0, 0.0, 0.0, True),
        (0.0, 0.0, 1e-30, False),
        (1.0, 0.25, 1.25, True),
        (1.0, 0.25, 0.75, True),
        (1.0, 0.25, 1.2500001, False),
        (1.0, 0.25, 1.26, False),
        (1.0, 0.25, 0.74, False),
        (3.4e38, 1e38, INF, True),
        (2e-38, 0.0, 0.0, False),
        (-2e-38, 0.0, 0.0, False),
        (1e-39, 0.0, 0.0, True),
        (-1e-39, 0.0, 0.0, True),
        (1e-39, 0.0, -1e-39, False),
        (1e-39, 0.0, 2e-39, False),
        (-1e-39, 0.0, 1e-39, False),
        (1e-39, 0.0, float(np.float32(1e-39)), True),
    ],
)
def test_what_is_accepted(value: float, error: float, answer: float, is_accepted: bool) -> None:
    answer = answer if math.isnan(answer) else float(np.float32(answer))
    expectation = Expectation(np.array([value, 0.5]), np.array([error, 0.0]), FLOAT32)
    assert expectation.accepts(np.array([answer, 0.5])).tolist() == [is_accepted, True]
    assert expectation.accepts_all(np.array([answer, 0.5])) is is_accepted
    assert not expectation.accepts_all(np.array([answer, 0.75]))


def test_a_format_with_subnormal_numbers_keeps_them() -> None:
    """Those of float16 are normal numbers of float32, in which it is computed: none is flushed."""
    value = np.array([FLOAT16.tiny / 2])
    assert not Expectation(value, np.zeros(1), FLOAT16).accepts(np.zeros(1)).any()
    assert Expectation(value, np.zeros(1), FLOAT16).accepts(value).all()


def test_the_ends_are_the_roundings_of_the_interval() -> None:
    u = BFLOAT16.u
    low, high = Expectation(np.array([1.0, -1.0]), np.array([0.9 * u, 3.1 * u]), BFLOAT16).ends
    assert low.tolist() == [1.0 - u, -1.0 - 4 * u]
    assert high.tolist() == [1.0, -1.0 + 3 * u]


def test_what_is_claimed_and_how_far_it_reaches() -> None:
    made = Expectation(np.array([1.0, INF, NAN, 2.0]), np.array([0.5, 0.0, 0.0, INF]), FLOAT32)
    assert made.claimed.tolist() == [True, True, False, False]
    assert made.radius.tolist() == [0.5, 0.0, INF, INF]
    assert [x.tolist() for x in made.ends] == [[0.5, INF, -INF, -INF], [1.5, INF, INF, INF]]


@pytest.mark.parametrize(
    ("error", "answer", "share"),
    [
        (2.0**-10, 1.0, 0.0),
        (2.0**-10, 1.0 + 2.0**-11, 0.5),
        (2.0**-10, 1.0 - 2.0**-11, 0.5),
        (2.0**-10, 1.0 + 2.0**-10, 1.0),
        (2.0**-10, 1.0 + 2.0**-9, 2.0),
        (2.0**-10, 1.0 - 2.0**-8, 4.0),
        (0.0, 1.0, 0.0),
        (0.0, 1.5, INF),
        (2.0**-10, NAN, INF),
        (INF, NAN, 0.0),
        (INF, 17.0, 0.0),
    ],
)
def test_the_share_of_the_bound(error: float, answer: float, share: float) -> None:
    """Apart from the rounding on storage, which is half a gap of float32."""
    found = Expectation(np.array([1.0]), np.array([error]), FLOAT32).share(np.array([answer])).item()
    assert found == share or found == pytest.approx(share, rel=1e-3)


def test_below_a_power_of_two_the_rounding_on_storage_is_half_as_large() -> None:
    u = BFLOAT16.u  # 1 - u is the neighbour of 1 below, and 1 + 2 u the one above
    made = Expectation(np.array([1.0 + u, 1.0 - u / 2]), np.array([u, u]), BFLOAT16)
    assert made.share(np.array([1.0, 1.0])).tolist() == [0.0, 0.0]
    assert Expectation(np.array([1.0 - u]), np.array([2 * u]), BFLOAT16).share(np.array([1.0])).tolist() == [0.25]


# --- stages ----------------------------------------------------------------------------------------------------------


def staged(exact: np.ndarray | None = None, *, sampled: bool = True, compute: str = "float32") -> StagedExpectation:
    first, second = np.random.default_rng(0).standard_normal((2, 40, 40))

    def evaluate(wrap: Any) -> Any:
        return wrap(np.linspace(1.0, 2.0, 40)) @ wrap(first) @ wrap(second)

    arithmetic = Arithmetic(FORMATS["float64"], FORMATS[compute])
    return StagedExpectation(evaluate, arithmetic, FORMATS["float64"], sampled=sampled, exact=exact)


def test_a_staged_bound_is_the_smaller_of_the_worst_case_and_the_sampled_one() -> None:
    whole, worst = staged().error, staged(sampled=False).error
    assert np.all(whole <= worst)
    assert np.any(whole < worst)
    assert np.array_equal(expect(staged().evaluate, staged().arithmetic, FORMATS["float64"], sampled=True).error, whole)


def test_a_worst_case_far_below_the_rounding_on_storage_is_the_whole_bound() -> None:
    """A sampled one could not change a verdict, and would cost many times as much."""
    evaluated: list[int] = []

    def evaluate(wrap: Any) -> Any:
        evaluated.append(1)
        return wrap(np.linspace(1.0, 2.0, 40)) * 3.0

    for storage, is_whole in ((BFLOAT16, True), (FLOAT32, False)):
        made = StagedExpectation(evaluate, Arithmetic(storage, FLOAT32), storage, sampled=True)
        evaluated.clear()
        made.at_stage(Stage.FEW)
        assert made.is_whole is is_whole
        assert (len(evaluated) == 1) is is_whole


def test_the_oracle_is_a_float64_implementation_too() -> None:
    """Its own error is as large as that of a backend, so that the worst case in float64 counts twice."""
    once = np.asarray(staged(sampled=False).evaluate(lambda x: Bounded.input(x, staged(compute="float64").arithmetic)).error)
    assert np.array_equal(staged(sampled=False, compute="float64").error, 2 * once)


def test_an_answer_is_accepted_by_the_whole_bound_alone() -> None:
    made = staged()
    low, high = made.ends
    assert made.accepts(low).all()
    assert made.accepts(high).all()
    assert not made.accepts(np.nextafter(high, INF)).any()
    assert not made.accepts(np.nextafter(low, -INF)).any()
    assert not made.accepts_all(np.where(np.arange(40) == 7, high + 1e-4, high))
    assert not made.accepts(np.full(40, NAN)).any()


def test_the_first_stage_is_the_exact_value() -> None:
    value = staged().value
    made = staged(exact=value)
    assert np.all(made.at_stage(Stage.STORED).error == 0)
    assert made.accepts_all(value)
    assert not made.is_whole
    assert np.any(staged().at_stage(Stage.STORED).error > 0), "without an exact value the first stage has few draws"
    assert np.any(staged(exact=np.where(np.arange(40) == 0, NAN, value)).at_stage(Stage.STORED).error > 0)


def test_an_open_element_is_not_claimed() -> None:
    made, open_ = staged(), np.arange(40) == 3
    made.leave_open(open_, open_)
    assert np.array_equal(np.isinf(made.error), open_)
    assert np.array_equal(~made.claimed, open_)
    kept = staged()
    kept.leave_open(open_, np.zeros(40, bool))
    assert np.isfinite(kept.error).all()


# --- choices ---------------------------------------------------------------------------------------------------------


def choose(value: list[float], error: float, k: int, answered: list[int] | None = None) -> tuple[list[int], bool]:
    """Return what is chosen of one row, and whether roundings leave it open."""
    choices = Choices(None if answered is None else np.array([answered]))
    with judged_by(choices):
        chosen = choose_largest(np.array([value]), np.full((1, len(value)), error), k)
    return chosen[0].tolist(), bool(choices.made[0].rows[0])


@pytest.mark.parametrize(
    ("value", "error", "answered", "expected"),
    [
        ([3.0, 2.0, 1.0], 0.1, None, ([0], False)),
        ([3.0, 2.9, 1.0], 0.1, None, ([0], True)),
        ([3.0, 2.5, 1.0], 0.2, None, ([0], False)),
        ([3.0, 2.9, 1.0], 0.1, [1], ([1], True)),
        ([3.0, 2.9, 1.0], 0.1, [2], ([0], True)),
        ([3.0, 2.0, 1.0], 0.1, [1], ([0], False)),
        ([3.0, 2.9, 1.0], 0.1, [7], ([0], True)),
        ([1.0, 1.0, 1.0], 0.0, [2], ([2], True)),
    ],
)
def test_a_choice_is_open_where_intervals_meet(
    value: list[float], error: float, answered: list[int] | None, expected: tuple[list[int], bool]
) -> None:
    assert choose(value, error, 1, answered) == expected


def test_all_entries_are_no_choice() -> None:
    assert choose([3.0, 2.9], 1.0, 2) == ([0, 1], False)


def test_a_set_of_indices() -> None:
    rows = np.array([[0, 1], [1, 1], [0, 3], [-1, 0], [1, 2]])
    assert is_set(rows, 3).tolist() == [True, False, False, False, True]


def test_the_alternatives_of_an_open_row() -> None:
    low, high = np.array([[2.9, 2.8, 0.0], [5.0, 1.0, 0.0]]), np.array([[3.1, 3.0, 0.1], [5.1, 1.1, 0.1]])
    arrays, too_many = OpenChoice(low, high, np.array([[0], [0]]), np.array([True, False])).alternatives()
    assert sorted(array[0].tolist() for array in arrays) == [[0], [1]]
    assert all(array[1].tolist() == [0] for array in arrays)
    assert not too_many.any()
    many = OpenChoice(np.zeros((1, 40)), np.ones((1, 40)), np.arange(3)[None], np.array([True]))
    assert many.alternatives()[1].all()


@pytest.mark.parametrize(("error", "is_open"), [(0.0, False), (0.2, True)])
def test_a_choice_of_groups_is_open_where_their_scores_meet(error: float, is_open: bool) -> None:
    value, choices = np.array([[1.0, 0.9, 0.95, 0.5]]), Choices(np.array([[2]]))
    with judged_by(choices):
        inside = choose_groups(value, np.full((1, 4), error), FLOAT32.u, 2, 1, "max")
    assert choices.open_groups[0].tolist() == [is_open]
    assert inside[0].tolist() == ([False, False, True, True] if is_open else [True, True, False, False])
