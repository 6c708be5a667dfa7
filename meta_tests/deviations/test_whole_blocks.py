"""Counts that are rounded to whole blocks are said with the size of the blocks."""

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

LENGTHS = ((5, 9), (12, 3), (17, 8), (20, 11), (7, 16))


def cut(block: int) -> Callable[..., Any]:
    """Return attention to a cache that leaves out the slots after the last whole block."""
    right = specification("attention_with_kv_cache").reference

    def attention_with_kv_cache(q: Any, k_cache: Any, v_cache: Any, lengths: Any, *, is_causal: bool) -> Any:
        return right(q, k_cache, v_cache, np.asarray(lengths) // block * block, is_causal=is_causal)

    return attention_with_kv_cache


def shortened(q: Any, k_cache: Any, v_cache: Any, lengths: Any, *, is_causal: bool) -> Any:
    """Two thirds of the slots of a row, which are no whole blocks."""
    right = specification("attention_with_kv_cache").reference
    return right(q, k_cache, v_cache, np.maximum(np.asarray(lengths) * 2 // 3, 1), is_causal=is_causal)


def explain(function: Callable[..., Any]) -> str:
    rng = np.random.default_rng(4)
    calls = [
        (
            (rng.normal(size=(2, 2, 1, 4)), *(rng.normal(size=(2, 2, 24, 4)) for _ in range(2)), np.array(own)),
            {"is_causal": False},
        )
        for own in LENGTHS
    ]
    evidence = Evidence.gather(answers("attention_with_kv_cache", function, calls))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    return found.what if found else ""


@pytest.mark.parametrize("block", [2, 4])
def test_lengths_that_are_rounded_down_are_said(block: int) -> None:
    assert explain(cut(block)) == f"each entry of lengths is rounded down to a multiple of {block}"


def test_other_lengths_are_not_said_to_be_whole_blocks() -> None:
    assert "multiple" not in explain(shortened)


def test_lengths_in_pages_are_said_with_the_size_of_a_page() -> None:
    rng, right, calls = np.random.default_rng(7), specification("paged_attention").reference, []
    for size, own in ((3, (4, 8)), (5, (12, 3)), (4, (7, 5)), (6, (13, 11))):
        pages = (rng.normal(size=(8, size, 2, 4)) for _ in range(2))
        calls.append(((rng.normal(size=(2, 2, 1, 4)), *pages, np.arange(8).reshape(2, 4), np.array(own)), {"is_causal": False}))

    def of_whole_pages(q: Any, k: Any, v: Any, table: Any, lengths: Any, *, is_causal: bool) -> Any:
        return right(q, k, v, table, np.asarray(lengths) // k.shape[1] * k.shape[1], is_causal=is_causal)

    evidence = Evidence.gather(answers("paged_attention", of_whole_pages, calls))
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    assert found is not None
    assert found.what == "each entry of lengths is rounded down to a multiple of page_size"
