"""Test that a cause is shown by an example, and an element, whose error matters to a person, where there is one."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spec_tests.bounds.expectation import Expectation
from spec_tests.calls.severity import HIDDEN, NOT_FINITE, VISIBLE
from spec_tests.calls.violation import exceeds_bound
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.formats import FORMATS

from ..support.in_process import attempt, trials_of


def softmax(x: np.ndarray, *, axis: int) -> Any:
    """Without the maximum subtracted: NaN for large x, and slightly wrong numbers below the normal range for small x."""
    with np.errstate(all="ignore"):
        return (e := np.exp(x)) / e.sum(axis=axis, keepdims=True)


def rms_norm(x: np.ndarray, weight: np.ndarray, *, eps: float) -> Any:
    """With eps outside the root: wrong in the first digit for small x, and in the sixth one for x = 1."""
    return x / (np.sqrt(np.mean(x * x, axis=-1, keepdims=True)) + x.dtype.type(eps)) * weight


def sigmoid(x: np.ndarray) -> Any:
    """Wrong by 1e-25 alone: there is no example on which the error matters more."""
    return 1 / (1 + np.exp(-np.clip(x, -60, None))) + np.asarray(1e-25, x.dtype)


@pytest.mark.rotating
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("function", "severity"), [(softmax, NOT_FINITE), (rms_norm, VISIBLE), (sigmoid, HIDDEN)])
def test_the_example_is_one_whose_error_matters(function: Any, severity: int, seed: int) -> None:
    name = function.__name__
    source = SimpleNamespace(framework="numpy", dtypes=("float32",), **{name: function})
    backend = build_backend(source, {name})
    test, trial = next(
        found for found in trials_of(name, backend) if found[0].invariant.id_for(found[1].operation_name) == f"{name}.reference"
    )
    violation = attempt(test, trial, seed, shrink=True)
    finding = trial.tally.reported
    assert finding is not None
    assert finding.failure.severity == severity, violation and violation.facts
    assert finding.cause.example is finding.failure
    assert finding.failure.violation is violation


def test_the_element_is_one_whose_error_matters() -> None:
    expected, got = np.array([1e-25, 1.0, 1.0, 1.0]), np.array([2e-25, 1.001, 1.01, 1.0])
    expectation = Expectation(expected, 1e-6 * expected, FORMATS["float32"])
    facts = dict(exceeds_bound(got, expectation, expectation.accepts(got)).facts)
    assert (facts["expected"], facts["got"]) == ("1", "1.01")
    got[1] = np.nan
    assert dict(exceeds_bound(got, expectation, expectation.accepts(got)).facts)["got"] == "nan"
    got[1:] = 1.0
    assert dict(exceeds_bound(got, expectation, expectation.accepts(got)).facts)["got"] == "2e-25"
