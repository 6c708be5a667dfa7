"""A result and an argument of one name are told apart: a state that is read wrongly, and one that is returned wrongly."""

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

RIGHT = specification("mamba2_scan").reference


def reads_transposed(*arrays: Any, state: Any) -> Any:
    return RIGHT(*arrays, state=state.swapaxes(-1, -2))


def returns_transposed(*arrays: Any, state: Any) -> Any:
    out, after = RIGHT(*arrays, state=state)
    return out, after.swapaxes(-1, -2)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (reads_transposed, "state is transposed where it is square"),
        (returns_transposed, "the returned state is transposed where it is square"),
    ],
)
def test_the_state_that_is_wrong_is_said(function: Callable[..., Any], sentence: str) -> None:
    rng, calls = np.random.default_rng(3), []
    for h, n, p in ((1, 2, 2), (2, 3, 3), (1, 4, 4), (3, 1, 2)):
        x, state = rng.normal(size=(h, n, p)), rng.normal(size=(h, p, p))
        b, c = rng.normal(size=(2, 1, n, p))
        calls.append(((x, rng.uniform(0.1, 1, (h, n)), -rng.uniform(0.1, 1, h), b, c), {"state": state}))
    evidence = Evidence.gather(answers("mamba2_scan", function, calls))
    assert evidence.wrong
    budget = give_budget(evidence.wrong[0].operation.backend)
    found = read_operator(evidence, answer=lambda *_: None, budget=budget, catalogue=False)
    assert found is not None
    assert found.what == sentence
