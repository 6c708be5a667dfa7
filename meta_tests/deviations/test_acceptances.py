"""Test that another test of drafted tokens is named with its number, and that drafts verified rightly are not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.deviations._drafts import verify_by
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.diagnosis.operator.acceptances import list_acceptances
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.trials.asker import answer_instead

from ..support.answered import answers
from ..support.budgets import budget_for

RANDOM = np.random.default_rng(7)
Accepts = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def draw_call(b: int = 6, n: int = 3, vocab: int = 4) -> tuple[tuple[Any, ...], dict[str, Any]]:
    p, q = (x / np.sum(x, axis=-1, keepdims=True) for x in RANDOM.random((2, b, n + 1, vocab)) ** 2)
    return (RANDOM.integers(0, vocab, (b, n)), q[:, :n], p, RANDOM.random((b, n)), RANDOM.random(b)), {}


def gather(accepts: Accepts) -> Evidence:
    calls = answers("verify_draft", lambda *arrays: verify_by(arrays, accepts=accepts), [draw_call() for _ in range(12)])
    return Evidence.gather(calls)


@pytest.mark.parametrize(
    ("accepts", "says"),
    [
        (lambda p, q, u: p > 0.3, "where p exceeds about 0.3, whatever"),
        (lambda p, q, u: (u * q < p) | (p > 0.2), "and also where p exceeds about 0.2"),
        (lambda p, q, u: 0.5 * u * q < p, "where u q < c p, with c near 2"),
    ],
)
def test_another_test_is_named(accepts: Accepts, says: str) -> None:
    evidence = gather(accepts)
    found = read_operator(evidence, answer=answer_instead, budget=budget_for(evidence))
    assert found is not None
    assert says in found.what


def test_a_test_without_a_number_is_not_named() -> None:
    evidence = gather(lambda p, q, u: u * q * q < p * p)
    assert evidence.wrong
    found = read_operator(evidence, answer=answer_instead, budget=budget_for(evidence))
    assert found is None


def test_right_answers_allow_the_factor_1() -> None:
    """So no threshold is between the tokens that were accepted and those that were not."""
    (call,) = answers("verify_draft", lambda *arrays: verify_by(arrays), [draw_call(b=64)])
    assert not [one for one in list_acceptances(call) if "p exceeds" in one.what]


def test_a_draft_that_has_no_probability_and_is_accepted_bounds_no_number() -> None:
    (tokens, q, p, *noise), _ = draw_call()
    p = np.where(np.arange(p.shape[-1]) == 0, 0.0, p)
    given = (np.zeros_like(tokens), q, p / np.sum(p, axis=-1, keepdims=True), *noise)
    (call,) = answers("verify_draft", lambda *arrays: verify_by(arrays, accepts=lambda p, q, u: u >= 0), [(given, {})])
    assert not [one for one in list_acceptances(call) if "c near" in one.what]


def test_a_deviation_whose_tokens_carry_no_error_is_named() -> None:
    """What is drawn is a plain array among number types that carry an error."""
    assert [found.id for found in diagnose(gather(lambda p, q, u: u < p))] == ["verify_draft/draft-left-out"]


def verify_in_a_loop(tokens: Any, q: Any, p: Any, uniforms: Any, final: Any) -> Any:
    """The residual is that of the last token that was looked at, also where all are accepted."""
    found, counts = np.full((len(tokens), tokens.shape[1] + 1), -1), np.zeros(len(tokens), dtype=int)
    for b, row in enumerate(tokens):
        r = 0
        while r < len(row) and uniforms[b, r] * q[b, r, row[r]] < p[b, r, row[r]]:
            r += 1
        weights = np.maximum(p[b, r] - q[b, min(r, len(row) - 1)], 0.0)
        sums = np.cumsum(weights)
        found[b, :r], counts[b] = row[:r], r
        found[b, r] = np.argmax(sums > final[b] * sums[-1])
    return found, counts


def test_a_draw_that_subtracts_the_last_draft_is_named() -> None:
    evidence = Evidence.gather(answers("verify_draft", verify_in_a_loop, [draw_call() for _ in range(12)]))
    assert evidence.wrong
    found = read_operator(evidence, answer=answer_instead, budget=budget_for(evidence))
    assert found is not None
    assert (
        found.what
        == "where all are accepted, the one more is drawn from what the target has more than the draft of the last token"
    )
