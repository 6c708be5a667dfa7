"""Code that runs along the axis before its own is said so."""

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

ATTENTION, ROPE = (specification(name).reference for name in ("scaled_dot_product_attention", "rope"))
Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]
SHAPES = ((3, 5, 4), (2, 6, 4, 8), (4, 4, 6), (5, 2, 4))
WORDS = "axis −3 of {} is taken for that of the {}"


def over_heads(q: Any, k: Any, v: Any) -> Any:
    """Attention of arrays (tokens, heads, d) that are (heads, tokens, d)."""
    return ATTENTION(*(np.swapaxes(x, -2, -3) for x in (q, k, v))).swapaxes(-2, -3)


def turn_heads(x: Any, positions: Any) -> Any:
    """The angles of x (tokens, heads, d), where x is (heads, tokens, d)."""
    own = np.resize(positions, x.shape[-3])
    return ROPE(x.swapaxes(-2, -3), own).swapaxes(-2, -3)


def turn_heads_by_frequencies(x: Any, positions: Any, inverse_frequencies: Any) -> Any:
    """There may be as many frequencies as tokens, and they are no positions."""
    own = np.resize(positions, x.shape[-3])
    return ROPE(x.swapaxes(-2, -3), own, inverse_frequencies).swapaxes(-2, -3)


def turn_backward(x: Any, positions: Any) -> Any:
    return ROPE(x, positions[::-1])


def explain(operation: str, function: Callable[..., Any]) -> str:
    rng = np.random.default_rng(6)
    of_attention: Calls = [(tuple(rng.normal(size=shape) for _ in range(3)), {}) for shape in SHAPES]
    of_rope: Calls = [((rng.normal(size=shape), rng.integers(0, 40, shape[-2])), {}) for shape in SHAPES]
    calls = of_rope if operation == "rope" else of_attention
    evidence = Evidence.gather(answers(operation, function, calls))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    return found.what if found else ""


@pytest.mark.parametrize(
    ("operation", "function", "sentence"),
    [
        ("scaled_dot_product_attention", over_heads, WORDS.format("q", "queries")),
        ("rope", turn_heads, f"{WORDS.format('x', 'tokens')}, with entry i of positions at its index i"),
    ],
)
def test_an_axis_that_is_taken_for_another_is_said(operation: str, function: Callable[..., Any], sentence: str) -> None:
    assert explain(operation, function) == sentence


def test_frequencies_are_not_taken_for_positions() -> None:
    rng, calls = np.random.default_rng(3), Calls()
    for shape in ((3, 2, 4), (2, 4, 8), (4, 3, 6), (3, 5, 4)):
        frequencies = rng.uniform(0.1, 1, shape[-1] // 2)
        calls.append(((rng.normal(size=shape), rng.integers(0, 40, shape[-2]), frequencies), {}))
    evidence = Evidence.gather(answers("rope", turn_heads_by_frequencies, calls))
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    assert found is not None
    assert found.what.startswith("axis −3 of x is taken for that of the tokens")


def test_another_order_of_tokens_is_not_said_to_be_another_axis() -> None:
    assert "axis −3" not in explain("rope", turn_backward)
