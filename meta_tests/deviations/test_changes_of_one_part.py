"""A change of an equation that holds in one of several gradients alone is found, and said with that gradient."""

from __future__ import annotations

from typing import Any

import pytest

from spec_tests.deviations._oracle_backend import put_into_oracle
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.implementation.backend import build_backend
from spec_tests.specification.registry import operations, specification

from ..measure.leave_one_out import answered_calls
from ..support.budgets import budget_for


def without_the_norm_in_the_gain(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """The gradient of x is right; that of the gain takes eps for 0."""
    right = specification("rms_norm_vjp").reference
    dx, _ = right(cotangent, x, weight, eps=eps)
    return dx, right(cotangent, x, weight, eps=0.0)[1]


def without_eps(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    return specification("rms_norm_vjp").reference(cotangent, x, weight, eps=0.0)


@pytest.mark.parametrize(("function", "is_in_one"), [(without_the_norm_in_the_gain, True), (without_eps, False)])
def test_a_change_in_one_gradient_is_said_of_that_gradient(function: Any, is_in_one: bool) -> None:
    under_test = build_backend(put_into_oracle("rms_norm_vjp", function), set(operations()))
    evidence = Evidence.gather(list(answered_calls(under_test, "rms_norm_vjp", "float64", "part", 24)))
    assert evidence.wrong
    found = search_equation(evidence, budget=budget_for(evidence))
    assert found is not None
    assert found.what.endswith(", in the gradient of weight alone") == is_in_one, found.what
    assert all(found.predicts(call) for call in evidence.wrong)
