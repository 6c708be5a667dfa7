"""Test that an array of uniform numbers that is read as its complement is named."""

from __future__ import annotations

from typing import Any

import numpy as np

from spec_tests.diagnosis.equations.search import search_equation
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import budget_for

SHAPES = ((1, 2, 3), (2, 3, 5), (3, 2, 4), (2, 4, 4))  # batch, n, vocab


def test_uniform_numbers_that_are_read_as_their_complements_are_named() -> None:
    right, random = specification("verify_draft").reference, np.random.default_rng(5)

    def wrong(draft: Any, q: Any, p: Any, uniforms: Any, final: Any) -> Any:
        return right(draft, q, p, 1 - uniforms, final)

    def draw(batch: int, n: int, vocab: int) -> tuple[Any, ...]:
        q, p = random.dirichlet(np.ones(vocab), (batch, n)), random.dirichlet(np.ones(vocab), (batch, n + 1))
        return random.integers(0, vocab, (batch, n)), q, p, random.random((batch, n)), random.random(batch)

    evidence = Evidence.gather(answers("verify_draft", wrong, [(draw(*shape), {}) for shape in (*SHAPES, *SHAPES)]))
    found = search_equation(evidence, budget=budget_for(evidence, share=0.5))
    assert found is not None
    assert "«uniforms = 1 - uniforms»" in found.what
