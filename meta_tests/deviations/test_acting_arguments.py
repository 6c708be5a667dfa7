"""An argument that another one acts on, and should not, is said, and so is the other way around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget


def scaled_bias(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """(n + bias) weight, where the bias is added last."""
    return specification("layer_norm").reference(x, weight, bias * weight, eps=eps)


def squared_bias(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    return specification("layer_norm").reference(x, weight, bias * bias, eps=eps)


def explain(function: Callable[..., Any]) -> str:
    rng, calls = np.random.default_rng(4), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for n, d in ((1, 3), (2, 5), (4, 4), (3, 7)):
        calls.append(((rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=d)), {"eps": 0.1 * n}))
    evidence = Evidence.gather(answers("layer_norm", function, calls))
    budget = give_budget(evidence.wrong[0].operation.backend)
    found = read_operator(evidence, answer=lambda *_: None, budget=budget, catalogue=False)
    return found.what if found else ""


@pytest.mark.parametrize(
    ("function", "sentence"),
    [(scaled_bias, "bias · weight is taken for bias, as where weight acts on it, and should not"), (squared_bias, "")],
)
def test_what_acts_on_an_argument_is_said(function: Callable[..., Any], sentence: str) -> None:
    assert explain(function) == sentence
