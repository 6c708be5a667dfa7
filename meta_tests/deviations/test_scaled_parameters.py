"""Test that a number parameter whose sign and factor are both wrong is named, also where little may be spent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.wish import Wish
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import budget_for

PENALTIES = ((3, 2, 0.3, 0.3), (5, 4, 2.0, -0.8), (4, 3, -0.7, 0.5), (6, 3, 0.0, 0.4))  # vocab, n, frequency and presence
SHARE = 0.2  # of what the failures of an operation may cost at default effort


def of_penalties(scaled: str, factor: float) -> list[Call]:
    right, random = specification("penalize_logits").reference, np.random.default_rng(3)

    def wrong(logits: Any, output_ids: Any, **options: Any) -> Any:
        return right(logits, output_ids, **{**options, scaled: factor * options[scaled]})

    inputs = [
        ((random.normal(size=(2, v)), random.integers(0, v, (2, n))), {"frequency_penalty": f, "presence_penalty": p})
        for v, n, f, p in PENALTIES
    ]
    return answers("penalize_logits", wrong, inputs)


@pytest.mark.parametrize(
    ("scaled", "factor"), [("frequency_penalty", -0.5), ("presence_penalty", -2.0), ("frequency_penalty", 3.0)]
)
def test_a_factor_of_a_parameter_is_found_early(scaled: str, factor: float) -> None:
    evidence = Evidence.gather(of_penalties(scaled, factor))
    found = search_equation(evidence, budget=budget_for(evidence, SHARE))
    assert found is not None
    assert f"{scaled} = {scaled} * " in found.what
    assert f"{factor:g}" in found.what
    assert all(found.predicts(call) for call in of_penalties(scaled, factor))


def test_an_equation_with_a_factor_is_refuted_as_others_are() -> None:
    """The answers to two calls have the factor; those to the calls that are asked for have not."""
    evidence = Evidence.gather(of_penalties("frequency_penalty", -0.5))

    def ask(wish: Wish | None = None) -> list[Call]:
        return of_penalties("frequency_penalty", 1.0)

    assert search_equation(evidence, budget=budget_for(evidence, SHARE), ask=ask) is None


def test_one_known_value_of_a_parameter_tells_no_factor_from_a_fixed_value() -> None:
    right, random = specification("rms_norm").reference, np.random.default_rng(4)

    def fixed(x: Any, weight: Any, *, eps: float) -> Any:
        return right(x, weight, eps=0.03)

    shapes = ((3,), (2, 5), (4, 7))
    calls = answers("rms_norm", fixed, [((random.normal(size=s), random.normal(size=s[-1])), {"eps": 0.1}) for s in shapes])
    evidence = Evidence.gather(calls)
    found = search_equation(evidence, budget=budget_for(evidence))
    assert found is not None
    assert "eps = 0.03" in found.what
