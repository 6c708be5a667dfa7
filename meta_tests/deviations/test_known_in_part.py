"""Test that known deviations are named in one of several results, and limits of counts and of options with their numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_numpy.divergence import divergence
from reference_numpy.penalize_logits import penalize_logits
from reference_numpy.token_log_probs import token_log_probs
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.explanation import Explanation
from spec_tests.diagnosis.operator.alternative import Alternative
from spec_tests.diagnosis.operator.search import is_zero_beside, read_operator
from spec_tests.trials.asker import answer_instead

from ..support.answered import answers
from ..support.budgets import budget_for

RANDOM = np.random.default_rng(11)
Draw = Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]


def search(operation: str, answer: Callable[..., Any], draw: Draw) -> Explanation | None:
    evidence = Evidence.gather(answers(operation, answer, [draw() for _ in range(12)]))
    assert evidence.wrong
    return read_operator(evidence, answer=answer_instead, budget=budget_for(evidence))


def test_a_deviation_in_one_of_two_results_is_named() -> None:
    def divide_late(logits: Any, targets: Any, *, temperature: float) -> Any:
        return token_log_probs(logits, targets)[0] / temperature, token_log_probs(logits, targets, temperature=temperature)[1]

    found = search(
        "token_log_probs",
        divide_late,
        lambda: ((RANDOM.normal(size=(3, 5)), RANDOM.integers(0, 5, 3)), {"temperature": float(RANDOM.choice((0.5, 2.0, 4.0)))}),
    )
    assert found is not None
    assert found.what == "the log_probs are divided by the temperature, and not the logits, in log_probs alone"


@pytest.mark.parametrize("limit", [3, 15])
def test_counts_of_few_bits_are_named(limit: int) -> None:
    def keep_few(logits: Any, output_ids: Any, **options: Any) -> Any:
        ids = np.concatenate(
            [np.repeat(t, min(n, limit)) for t, n in zip(*np.unique(output_ids, return_counts=True), strict=True)]
        )
        return penalize_logits(logits, ids, **options)

    found = search(
        "penalize_logits",
        keep_few,
        lambda: ((RANDOM.normal(size=6), RANDOM.integers(0, 3, 64)), {"frequency_penalty": 0.25}),
    )
    assert found is not None
    assert found.what == f"a token that occurs more than {limit} times in output_ids counts {limit} times"


def test_a_limit_of_an_option_is_named() -> None:
    found = search(
        "token_log_probs",
        lambda logits, targets, *, temperature: token_log_probs(logits, targets, temperature=max(temperature, 0.1)),
        lambda: (
            (RANDOM.normal(size=(3, 5)), RANDOM.integers(0, 5, 3)),
            {"temperature": float(RANDOM.choice((0.02, 0.05, 1.0)))},
        ),
    )
    assert found is not None
    assert found.what == "temperature below 0.1 is taken as 0.1"


def test_what_gives_zero_does_not_explain_answers_that_are_not_zero() -> None:
    """Many a change of the call makes both distributions equal, and an error bound admits small answers."""
    student, teacher = RANDOM.normal(size=(2, 4, 5))
    given = [((student, teacher), {"beta": beta}) for beta in (0.0, 1.0)]
    calls = answers("divergence", lambda *arrays, beta: divergence(*arrays, beta=1e-6), given)
    equal = Alternative("divergence", "the teacher is the student", lambda spec, named: divergence(student, student))
    assert is_zero_beside(equal, list(calls))
