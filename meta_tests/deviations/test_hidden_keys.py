"""Keys that a mask hides, and code sets to 0 and attends to, are said so."""

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

RIGHT = specification("grouped_query_attention").reference


def zeroed(*names: str, value: float = 0.0) -> Callable[..., Any]:
    """Return attention without a mask to keys and values that have one value where it hides them."""

    def grouped_query_attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        seen = np.any(mask, axis=0)[:, None]
        k, v = (np.where(seen, x, value) if name in names else x for name, x in (("k", k), ("v", v)))
        return RIGHT(q, k, v)

    return grouped_query_attention


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (zeroed("k", "v"), "keys and values that the mask hides from every query are set to 0, and attended to"),
        (zeroed("v"), "values that the mask hides from every query are set to 0, and their keys attended to"),
        (zeroed("k", "v", value=1.0), ""),
    ],
)
def test_what_hidden_keys_are_is_said(function: Callable[..., Any], sentence: str) -> None:
    rng, calls = np.random.default_rng(9), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for h, n, m in ((2, 3, 5), (1, 2, 4), (4, 4, 7), (2, 1, 6)):
        mask = np.ones((n, m), dtype=bool)
        mask[:, m - 2 :] = False
        calls.append(((rng.normal(size=(h, n, 4)), *(rng.normal(size=(1, m, 4)) for _ in range(2)), mask), {}))
    evidence = Evidence.gather(answers("grouped_query_attention", function, calls))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    assert (found.what if found else "") == sentence
