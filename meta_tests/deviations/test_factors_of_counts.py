"""Penalties that act once for each occurrence of a token, or also on the tokens of the prompt, are said."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import budget_for

RIGHT = specification("penalize_logits").reference


def each_occurrence(logits: Any, output_ids: Any, *, repetition_penalty: float, presence_penalty: float) -> Any:
    """The ids are gone through one by one, as in a loop over the history."""
    z = logits
    for place in range(output_ids.shape[-1]):
        z = RIGHT(z, output_ids[..., place : place + 1], repetition_penalty=repetition_penalty)
    return RIGHT(z, output_ids, presence_penalty=presence_penalty)


def test_a_factor_for_each_occurrence_is_said() -> None:
    rng, calls = np.random.default_rng(5), []
    for rows, vocab, count in ((1, 3, 5), (2, 4, 7), (3, 6, 9), (2, 5, 4)):
        penalties = {"repetition_penalty": 1.0 + 0.25 * rows, "presence_penalty": 0.5}
        calls.append(((rng.normal(size=(rows, vocab)), rng.integers(0, vocab, (rows, count))), penalties))
    evidence = Evidence.gather(answers("penalize_logits", each_occurrence, calls))
    assert evidence.wrong
    found = search_equation(evidence, budget=budget_for(evidence))
    assert found is not None
    assert "repetition_penalty^max(count, 1)" in found.what


def with_the_prompt(logits: Any, output_ids: Any, prompt_ids: Any, *, frequency_penalty: float, presence_penalty: float) -> Any:
    """The counts of the frequency penalty alone begin at the prompt."""
    ids = np.concatenate([prompt_ids, output_ids], axis=-1)
    return RIGHT(RIGHT(logits, ids, frequency_penalty=frequency_penalty), output_ids, presence_penalty=presence_penalty)


def test_a_penalty_that_counts_the_prompt_is_said() -> None:
    rng, calls = np.random.default_rng(6), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for rows, vocab, count in ((1, 3, 5), (2, 4, 7), (3, 6, 9), (2, 5, 4)):
        arrays = (rng.normal(size=(rows, vocab)), *(rng.integers(0, vocab, (rows, count)) for _ in range(2)))
        calls.append((arrays, {"frequency_penalty": 0.25 * rows, "presence_penalty": 0.5}))
    evidence = Evidence.gather(answers("penalize_logits", with_the_prompt, calls))
    budget = budget_for(evidence)
    found = read_operator(evidence, answer=lambda *_: None, budget=budget, catalogue=False)
    assert found is not None
    assert found.what == "frequency_penalty also counts the tokens of prompt_ids"
