"""An optional argument that stands for another, given or not, is said."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget

RIGHT = specification("glu").reference


def first_bias_for_both(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    return RIGHT(x, w1, w2, b1, b2 if b1 is None else b1)


def test_a_bias_that_stands_for_another_is_said() -> None:
    rng, calls = np.random.default_rng(2), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for n, has_second in ((2, True), (3, False), (1, True), (4, False)):
        x, w1, w2, b1, b2 = (rng.normal(size=shape) for shape in ((n, 4), (5, 4), (5, 4), (5,), (5,)))
        calls.append(((x, w1, w2), {"b1": b1, "b2": b2} if has_second else {"b1": b1}))
    evidence = Evidence.gather(answers("glu", first_bias_for_both, calls))
    assert evidence.wrong
    budget = give_budget(evidence.wrong[0].operation.backend)
    found = read_operator(evidence, answer=lambda *_: None, budget=budget, catalogue=False)
    assert found is not None
    assert found.what == "b1 is taken for b2, whether that is given or not"
