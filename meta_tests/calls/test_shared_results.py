"""Tests of what is said of results that share memory with other results."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.violation import Violation
from spec_tests.helpers.native_arrays import SHARING, assert_still
from spec_tests.implementation.backend import build_backend
from spec_tests.implementation.framework import Framework
from spec_tests.specification.registry import operations
from spec_tests.test_every_operation import OVERWRITTEN, SHARED

from ..support.in_process import attempt, trials_of


def keep_a_buffer(buffers: dict[Any, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def relu(x: np.ndarray) -> np.ndarray:
        y = buffers.setdefault(x.shape, np.empty_like(x))
        y[...] = np.maximum(x, 0)
        return y

    return relu


def hand_out_what_was_answered(answers: dict[Any, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: answers.setdefault((x.shape, x.tobytes()), np.maximum(x, 0))


@pytest.mark.parametrize("sentence", [OVERWRITTEN, SHARED])
def test_it_is_one_cause_whoever_writes(sentence: str) -> None:
    framework, x = Framework("numpy"), np.zeros(3)
    with pytest.raises(Violation, match=f"^{sentence}: 3 of 3 elements differ") as raised:
        assert_still(framework, [x], {id(x): np.ones(3)}, sentence)
    assert raised.value.symptom == SHARING
    assert_still(framework, [x], {id(x): np.zeros(3)}, sentence)


def find_message(function: Callable[[np.ndarray], np.ndarray]) -> str:
    violation = find_violation(function)
    return violation.what if violation else ""


def find_violation(function: Callable[[np.ndarray], np.ndarray]) -> Violation | None:
    """Return the violation of the law about shared memory by a relu."""
    under_test = build_backend(SimpleNamespace(framework="numpy", dtypes=("float32",), relu=function), set(operations()))
    (found,) = [pair for pair in trials_of("relu", under_test) if pair[0].invariant.id_for("relu") == "relu.not_an_alias"]
    return attempt(*found, seed=0)


def test_a_buffer_that_the_next_call_overwrites() -> None:
    assert find_message(keep_a_buffer({})).startswith(f"{OVERWRITTEN}: ")


def test_a_cached_result_that_is_handed_out() -> None:
    what = find_message(hand_out_what_was_answered({}))
    assert what
    assert not what.startswith(OVERWRITTEN)  # nothing but what writes to it changes it


@pytest.mark.parametrize("sentence", [OVERWRITTEN, SHARED])
def test_nothing_is_said_of_fresh_results(sentence: str) -> None:
    assert sentence not in find_message(lambda x: np.maximum(x, 0))
