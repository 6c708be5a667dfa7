"""An option that is taken at its default, perhaps under a condition, is said in one plain sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget


def scaled_only_without_bounds(x: Any, *, activation: str = "silu", limit: float | None = None, alpha: float = 1.0) -> Any:
    right = specification("gated_activation").reference
    return right(x, activation=activation, limit=limit, alpha=alpha if limit is None else 1.0)


def test_a_default_under_a_condition_is_said_plainly() -> None:
    rng, calls = np.random.default_rng(2), []
    for n, limit, alpha in ((2, 0.5, 1.5), (4, None, 0.5), (3, 1.0, 1.25), (5, None, 2.0), (2, 0.25, 0.75), (1, None, 1.5)):
        calls.append(((rng.normal(size=(n, 8)),), {"limit": limit, "alpha": alpha}))
    evidence = Evidence.gather(answers("gated_activation", scaled_only_without_bounds, calls))
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    assert found is not None
    assert found.what == "alpha is taken as 1.0 where limit is given"
