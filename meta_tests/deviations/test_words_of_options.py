"""An option that is taken at its default, perhaps under a condition, is said in one plain sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget


def scaled_only_without_bounds(x: Any, *, activation: str = "silu", limit: float | None = None, alpha: float = 1.0) -> Any:
    right = specification("gated_activation").reference
    return right(x, activation=activation, limit=limit, alpha=alpha if limit is None else 1.0)


def answer_calls(seed: int, count: int) -> list[Call]:
    rng = np.random.default_rng(seed)
    options = [{"limit": (0.5, None, 1.0, None)[i % 4], "alpha": (1.5, 0.5, 1.25, 2.0, 0.75)[i % 5]} for i in range(count)]
    drawn = [((rng.normal(size=(2 + i % 3, 8)),), own) for i, own in enumerate(options)]
    return answers("gated_activation", scaled_only_without_bounds, drawn)


def test_a_default_under_a_condition_is_said_plainly() -> None:
    evidence = Evidence.gather(answer_calls(2, 8))
    budget = give_budget(evidence.wrong[0].operation.backend)
    found = read_operator(evidence, answer=lambda *_: None, budget=budget, ask=lambda wish=None: iter(answer_calls(3, 12)))
    assert found is not None
    assert found.what == "alpha is taken as 1.0 where limit is given"
