"""Bugs of mixtures that the catalogue does not have are said: which token, which expert, which of k, which weight."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.experts import list_mixtures, read_mixture
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.inputs.chosen_draw import draw_small_call
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget
from ..support.in_process import backend
from ..support.machine_made_faults import make_operation

SPEC = specification("mixture_of_experts")
Wrong = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # (weights, experts, outputs) -> y


def mixture(wrong: Wrong) -> Callable[..., Any]:
    """Return a mixture of experts that sums its terms as the function does."""

    def evaluate(*arrays: Any, **keywords: Any) -> Any:
        named = {**dict(zip(SPEC.positional, arrays, strict=False)), **keywords}
        terms = read_mixture(SPEC, named)
        return wrong(terms.weights, terms.experts, terms.outputs).reshape(named["x"].shape)

    return evaluate


def of_each(experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return outputs[experts, np.arange(len(experts))[:, None]]


def first_weight_for_all(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.sum(weights[:, :1, None] * of_each(experts, outputs), axis=1)


def largest_weight_for_all(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.sum(weights.max(axis=1)[:, None, None] * of_each(experts, outputs), axis=1)


def least_expert_left_out(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    counts = (weights > weights.min(axis=1, keepdims=True)) | (weights.shape[1] == 1)
    return np.sum((weights * counts)[..., None] * of_each(experts, outputs), axis=1)


def flattened_otherwise(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.sum(weights.T.reshape(weights.shape)[..., None] * of_each(experts, outputs), axis=1)


def last_expert_never_runs(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.sum((weights * (experts < len(outputs) - 1))[..., None] * of_each(experts, outputs), axis=1)


def equal_shares(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Each expert has as many places as if the tokens were shared out equally."""
    places, used = -(-experts.size // len(outputs)), np.zeros(len(outputs), dtype=int)
    y = np.zeros(outputs.shape[1:])
    for token, chosen in enumerate(experts):
        for j, expert in enumerate(chosen):
            used[expert] += 1
            if used[expert] <= places:
                y[token] += weights[token, j] * outputs[expert, token]
    return y


def added_to_another_token(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    y, (tokens, k) = np.zeros(outputs.shape[1:]), experts.shape
    for p in range(tokens * k):
        token, j = divmod(p, k)
        y[p % tokens] += weights[token, j] * outputs[experts[token, j], token]
    return y


def unlike_any(weights: np.ndarray, experts: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return np.sum(np.sin(weights * 9)[..., None] * of_each(experts, outputs), axis=1)


def draw_calls(wrong: Wrong, seed: int, count: int = 16) -> list[Call]:
    """Return calls as laws draw them, answered by the function."""
    drawn = [
        draw_small_call(make_operation(backend("numpy-cpu"), SPEC.name), random.Random(f"{seed} {number}"), all_arguments=False)
        for number in range(count)
    ]
    return answers(SPEC.name, mixture(wrong), [(call.arguments, call.keywords) for call in drawn if call.size < 20_000])


def explain(wrong: Wrong) -> str:
    evidence = Evidence.gather(draw_calls(wrong, 1))
    assert evidence.wrong
    under_test = evidence.wrong[0].operation.backend
    found = read_operator(evidence, answer=lambda call, arguments: None, budget=give_budget(under_test))
    return found.what if found else ""


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (first_weight_for_all, "the weight of the first of a token's experts is taken for all"),
        (largest_weight_for_all, "the largest of a token's weights is taken for all of its experts"),
        (least_expert_left_out, "of a token's experts, that with the smallest weight is left out"),
        (flattened_otherwise, "the weights (tokens, k) are read as if they were stored as (k, tokens)"),
        (last_expert_never_runs, "the last expert is left out"),
        (equal_shares, "an expert takes ⌈k · tokens / experts⌉ tokens, and leaves out those after them"),
        (added_to_another_token, "the term of each pair of a token and an expert is added to another token"),
        (unlike_any, ""),
    ],
)
def test_a_bug_of_a_mixture_is_said(wrong: Wrong, sentence: str) -> None:
    assert explain(wrong).startswith(sentence)
    assert sentence or not explain(wrong)


def test_the_terms_are_those_of_the_equation() -> None:
    """What the alternatives change is the equation, term by term."""
    for call in draw_calls(lambda weights, experts, outputs: np.zeros(outputs.shape[1:]), 2):
        assert np.allclose(read_mixture(SPEC, call.named).sum().reshape(call.value.shape), call.value, rtol=1e-12, equal_nan=True)


def test_every_alternative_changes_some_call() -> None:
    """And takes every number type, so that its error bound can be derived."""
    changes = set[str]()
    for call in draw_calls(lambda weights, experts, outputs: np.zeros(outputs.shape[1:]), 3, 24):
        for alternative in list_mixtures(call):
            values = call.evaluate(np.asarray, alternative.function)
            if not np.allclose(values, call.value, rtol=1e-6, equal_nan=True):
                changes.add(alternative.id)
    assert changes == {alternative.id for alternative in list_mixtures(call)}
    call = next(call for call in draw_calls(first_weight_for_all, 4) if call.named["k"] > 1 and call.value.size)
    for alternative in list_mixtures(call):
        assert call.expect(call.operation.precision, alternative.function).accepts(call.value).shape == call.value.shape
