"""Test that shrinking has a budget, and that reaching it is never a verdict."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import hypothesis
import numpy as np
import pytest

from spec_tests.calls.operation import Operation
from spec_tests.calls.violation import Violation
from spec_tests.helpers.assertions import assert_true
from spec_tests.implementation.backend import build_backend
from spec_tests.inputs import effort
from spec_tests.inputs.draw import Draw
from spec_tests.specification.registry import operations
from spec_tests.trials.invariant import invariant
from spec_tests.trials.shrinking import as_hypothesis_test
from spec_tests.trials.trial import Trial


@invariant("E")
def alternating(relu: Operation, draw: Draw) -> None:
    """Draw between calls, so that the first call does not decide the example."""
    for _ in range(3):
        assert_true(bool(np.sum(relu(draw.normal((draw.integer(1, 50),))).value) < 10), "a large sum")


def make_trial(**attributes: Any) -> Trial:
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), **attributes)
    return Trial(build_backend(source, set(operations())), "float32")


@pytest.mark.parametrize("seed", range(4))
def test_the_end_of_shrinking_is_not_reported_as_flaky(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "EFFORTS", {"default": replace(effort.EFFORTS["default"], failure_work=20e6)})

    def relu(x: np.ndarray) -> np.ndarray:
        return np.maximum(x, 0)

    with pytest.raises(Violation, match="a large sum"):
        hypothesis.seed(seed)(as_hypothesis_test(alternating))(trial=make_trial(relu=relu))


def test_an_example_without_a_result_is_not_counted() -> None:
    def unwritten(x: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    refused = make_trial(relu=unwritten)
    as_hypothesis_test(alternating)(trial=refused)
    assert refused.tally.examples == 0
    assert refused.tally.refusals

    @invariant("E")
    def silent(relu: Operation, draw: Draw) -> None:
        """Asks nothing of the backend."""
        draw.integer(0, 1)

    as_hypothesis_test(silent)(trial=(never_asked := make_trial(relu=unwritten)))
    assert never_asked.tally.examples == 0
