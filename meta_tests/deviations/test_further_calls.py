"""Test that an equation is tested on further calls before it is said, also after the budget for other equations is spent."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.equations.check import MIN_FURTHER_CALLS
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import budget_for

RANDOM = np.random.default_rng(1)


def with_seven_eps(x: Any, weight: Any, *, eps: float) -> Any:
    return specification("rms_norm").reference(x, weight, eps=7 * eps)


def ask_norm(function: Any, count: int) -> list[Call]:
    return answers("rms_norm", function, [((RANDOM.normal(size=(2, d)), np.ones(d)), {"eps": 0.25}) for d in range(2, 2 + count)])


def search(*, may_test: bool, contradicted: bool = False) -> Explanation | None:
    """Search with a budget that is spent at the first further call.

    may_test: whether another is left to test what was found. contradicted: by the last of these calls.
    """
    evidence = Evidence.gather(ask_norm(with_seven_eps, 4))
    budget, last = budget_for(evidence), budget_for(evidence, share=1000.0)

    def ask() -> Iterator[Call]:
        budget.meter.add(int(budget.left) + 1)
        yield from ask_norm(with_seven_eps, MIN_FURTHER_CALLS + 4)
        if contradicted:
            yield from ask_norm(lambda x, weight, *, eps: with_seven_eps(x, weight, eps=2 * eps), 1)

    return search_equation(evidence, budget=budget, last=last if may_test else None, ask=ask)


@pytest.mark.rotating
def test_an_equation_is_tested_until_the_last_moment() -> None:
    assert search(may_test=True) is not None
    assert search(may_test=True, contradicted=True) is None
    assert search(may_test=False) is None, "too few calls were asked for to say an equation"


def test_enough_further_calls_do_if_the_budget_is_spent() -> None:
    evidence = Evidence.gather(ask_norm(with_seven_eps, 4))
    ask = partial(ask_norm, with_seven_eps, MIN_FURTHER_CALLS)
    found = search_equation(evidence, budget=budget_for(evidence), ask=ask)
    assert found is not None
    assert "7" in found.what
