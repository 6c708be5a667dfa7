"""A choice between entries that are nearly equal is right either way; any other wrong choice is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec_tests.calls import open_choices
from spec_tests.calls.operation import Operation
from spec_tests.calls.result import Result
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_conforms
from spec_tests.specification.registry import specification

from ..support.in_process import backend


def answer(logits: Any, weights: Any, indices: Any, *bias: Any, dtype: str = "float32", **options: Any) -> Result:
    """Return the result of a call of moe_router that was answered with these weights and indices."""
    operation = Operation(specification("moe_router"), backend("numpy-cpu"), dtype, "eager")
    call = operation.call(np.asarray(logits, dtype=float), *(np.asarray(b, dtype=float) for b in bias), **options)
    return Result(operation.values(call, (np.asarray(weights, dtype), np.asarray(indices))), call)


@pytest.mark.parametrize("chosen", [0, 1])
def test_equal_entries_may_be_chosen_either_way(chosen: int) -> None:
    result = answer([[1.0, 1.0, 0.0]], [[1.0]], [[chosen]], k=1)
    assert_conforms(result)
    assert np.all(np.isinf(result.error)), "a law would depend on the choice"


def test_a_third_entry_may_not() -> None:
    with pytest.raises(Violation):
        assert_conforms(answer([[1.0, 1.0, 0.0]], [[1.0]], [[2]], k=1))


def test_the_weights_are_those_of_the_choice() -> None:
    right = np.exp(1.0) / (2 * np.exp(1.0) + 1)
    assert_conforms(answer([[1.0, 1.0, 0.0]], [[right]], [[1]], k=1, renormalize=False))
    with pytest.raises(Violation):
        assert_conforms(answer([[1.0, 1.0, 0.0]], [[0.5]], [[1]], k=1, renormalize=False))


@pytest.mark.parametrize("indices", [[0, 0], [0, 3], [-1, 0]])
def test_what_is_no_set_of_experts_is_wrong(indices: list[int]) -> None:
    with pytest.raises(Violation):
        assert_conforms(answer([[1.0, 1.0, 1.0]], [[0.5, 0.5]], [indices], k=2))


def test_only_rows_whose_choice_is_open_claim_nothing() -> None:
    result = answer([[1.0, 1.0, 0.0], [2.0, 1.0, 0.0]], [[1.0], [1.0]], [[1], [0]], k=1)
    assert np.isinf(result.parts["indices"].error).ravel().tolist() == [True, False]


def test_the_order_of_the_experts_says_nothing() -> None:
    e = np.exp([3.0, 2.0])
    assert_conforms(answer([[2.0, 3.0, 0.0]], [e / e.sum()], [[1, 0]], k=2))
    with pytest.raises(Violation):
        assert_conforms(answer([[2.0, 3.0, 0.0]], [e / e.sum()], [[0, 1]], k=2))


@pytest.mark.parametrize("chosen", range(6))
def test_equal_groups_may_be_chosen_either_way(chosen: int) -> None:
    assert_conforms(answer(np.zeros((1, 6)), [[1.0]], [[chosen]], k=1, groups=3, top_groups=1))


def test_of_equal_groups_no_more_than_the_number_are_chosen() -> None:
    assert_conforms(answer(np.zeros((1, 6)), [[0.5, 0.5]], [[2, 3]], k=2, groups=3, top_groups=1))
    with pytest.raises(Violation):
        assert_conforms(answer(np.zeros((1, 6)), [[0.5, 0.5]], [[1, 2]], k=2, groups=3, top_groups=1))


def test_an_equal_group_that_was_not_touched_is_assumed_to_be_the_weaker_one() -> None:
    """Groups 1 and 2 have equal sums; the second of group 2 is larger than that of group 1, and may be out."""
    logits = np.log([[8.0, 8.0, 6.0, 2.0, 4.0, 4.0]])
    weights = [[1 / 3, 1 / 3, 1 / 3]]
    bias, options = np.zeros(6), {"k": 3, "groups": 3, "top_groups": 2, "group_score": "two"}
    for third, weight in ((2, 6.0), (4, 4.0), (5, 4.0)):
        weights = [np.array([8.0, 8.0, weight]) / (16.0 + weight)]
        assert_conforms(answer(logits, weights, [[0, 1, third]], bias, **options))
    with pytest.raises(Violation):
        assert_conforms(answer(logits, [np.array([8.0, 8.0, 2.0]) / 18.0], [[0, 1, 3]], bias, **options))


def test_without_an_answer_nothing_is_claimed_of_an_open_row() -> None:
    operation = Operation(specification("moe_router"), backend("numpy-cpu"), "float32", "eager")
    expectation = operation.call(np.array([[1.0, 1.0], [2.0, 1.0]]), k=1).expectation("eager")
    assert expectation.claimed.tolist() == [False, True, False, True]


def mix(chosen: int, *, router: Any = ((1.0,), (1.0,), (0.0,)), x: float = 1.0) -> Result:
    """Return the result of a call of mixture_of_experts with one token, answered by the expert `chosen` alone."""
    operation = Operation(specification("mixture_of_experts"), backend("numpy-cpu"), "float32", "eager")
    weight = np.arange(1.0, 4.0)[:, None, None]
    call = operation.call(np.array([[x]]), np.asarray(router), weight, weight, weight, k=1)
    w = weight[chosen, 0, 0]
    answer = np.array([[w * (w * x / (1 + np.exp(-w * x))) * w * x]], dtype=np.float32)
    return Result(operation.values(call, answer), call)


@pytest.mark.parametrize("chosen", [0, 1])
def test_either_of_two_equal_experts_may_answer(chosen: int) -> None:
    result = mix(chosen)
    assert_conforms(result)
    assert np.all(np.isinf(result.error)), "a law would depend on the choice"


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_choice_nearest_to_the_answer_is_tried_first(chosen: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are tried only where the worst case admits them, which is left out here."""
    monkeypatch.setattr(open_choices, "_share_of_worst_case", lambda *_: np.full(1, np.inf))
    assert_conforms(mix(chosen))


def test_another_expert_may_not_answer() -> None:
    with pytest.raises(Violation):
        assert_conforms(mix(2))
    with pytest.raises(Violation):
        assert_conforms(mix(1, router=((1.0,), (0.5,), (0.0,))))


def test_the_nearest_choice_is_measured_by_the_allowed_error() -> None:
    """By its distance alone the answer is nearer to expert 1, whose first feature is nearly the same and whose second is not."""
    operation = Operation(specification("mixture_of_experts"), backend("numpy-cpu"), "float16", "eager")
    ones, out = np.array([[[1.0, 0.0]], [[1.0, 0.0]]]), np.array([[[1000.0], [1.0]], [[1001.0], [2.0]]])
    call = operation.call(np.array([[1.0, 0.0]]), np.zeros((2, 2)), ones, out, ones, k=1)
    hidden = 1 / (1 + np.exp(-1.0))
    answer = np.array([[732.0, hidden]], dtype=np.float16)
    distances = [np.max(np.abs(answer - hidden * expert.T)) for expert in out]
    assert distances[1] < distances[0]
    assert_conforms(Result(operation.values(call, answer), call))
    with pytest.raises(Violation):
        assert_conforms(Result(operation.values(call, answer + np.array([0.0, 0.2], dtype=np.float16)), call))


def select(scores: Any, k: int) -> Result:
    """Return the result of a call of select_keys that the last keys answer."""
    operation = Operation(specification("select_keys"), backend("numpy-cpu"), "float32", "exact")
    scores = np.asarray(scores, dtype=float)
    call = operation.call(scores, k=k)
    last = np.broadcast_to(np.arange(scores.shape[-1])[-k:], (*scores.shape[:-1], k))
    return Result(operation.values(call, last), call)


def test_among_equal_scores_any_may_be_selected() -> None:
    assert_conforms(select([[1.0, 2.0, 2.0], [0.0, 1.0, 2.0]], 1))
    assert_conforms(select([1.0, 3.0, 3.0], 2))
    with pytest.raises(Violation):
        assert_conforms(select([[1.0, 2.0, 2.0], [2.0, 1.0, 0.0]], 1))


def test_equal_scores_that_are_all_selected_leave_nothing_open() -> None:
    assert not np.any(select([1.0, 3.0, 3.0], 2).error)
    assert not np.any(select([3.0, -np.inf, -np.inf], 2).error)
