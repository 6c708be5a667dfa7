"""Keys that do not exist, and count in the denominator of a softmax, are said with where they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.operator.search import read_operator
from spec_tests.specification.registry import specification

from ..support.answered import answers
from ..support.budgets import give_budget

SHAPES = ((2, 1, 3, 5), (4, 2, 1, 9), (2, 2, 4, 16), (3, 1, 2, 20), (6, 3, 5, 33))  # heads, their keys', queries, and keys


def padded(block: int) -> Callable[..., Any]:
    """Return attention whose keys are padded with zeros that no mask hides."""
    right = specification("grouped_query_attention").reference

    def grouped_query_attention(q: Any, k: Any, v: Any) -> Any:
        return right(q, *(np.concatenate([x, np.zeros((*x.shape[:-2], -x.shape[-2] % block, x.shape[-1]))], -2) for x in (k, v)))

    return grouped_query_attention


def weighed_twice(q: Any, k: Any, v: Any) -> Any:
    """A denominator that is too large, but not by keys with a score of 0."""
    return specification("grouped_query_attention").reference(q, k, v) / 1.5


def of_padding(function: Callable[..., Any]) -> list[Call]:
    rng = np.random.default_rng(2)
    shapes = [((h, n, 4), (h_kv, m, 4), (h_kv, m, 2)) for h, h_kv, n, m in SHAPES]
    return answers("grouped_query_attention", function, [(tuple(rng.normal(size=s) for s in each), {}) for each in shapes])


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (padded(16), "each place that pads the keys to a multiple of 16 counts in every query's softmax"),
        (weighed_twice, "the result is multiplied by"),
    ],
)
def test_keys_that_do_not_exist_are_said(function: Callable[..., Any], words: str) -> None:
    evidence = Evidence.gather(of_padding(function))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    said = found.what if found else words  # another factor may have no name
    assert said.startswith(words)


def unused_pages(q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any) -> Any:
    """Unused slots of a row's last page have the score 0, and the value 0."""
    size, table = k_pages.shape[1], np.asarray(block_table)
    rows = []
    for b, length in enumerate(np.asarray(lengths).tolist()):
        k, v = (pages[table[b]].reshape(-1, *pages.shape[2:])[:length].swapaxes(0, 1) for pages in (k_pages, v_pages))
        k, v = (np.repeat(x, q.shape[1] // x.shape[0], axis=0) for x in (k, v))
        e = np.exp(q[b] @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
        rows.append(e @ v / (e.sum(-1, keepdims=True) + -length % size))
    return np.stack(rows)


def test_unused_slots_of_a_page_are_said() -> None:
    rng, calls = np.random.default_rng(3), []
    for size, lengths in ((4, (1, 4, 7)), (8, (8, 3)), (3, (3, 5, 2, 6)), (16, (9, 17, 16))):
        b, pages = len(lengths), -(-max(lengths) // size)
        k, v = rng.normal(size=(b * pages, size, 2, 4)), rng.normal(size=(b * pages, size, 2, 3))
        table = rng.permutation(b * pages).reshape(b, pages)
        calls.append(((rng.normal(size=(b, 4, 1, 4)), k, v, table, np.array(lengths)), {}))
    evidence = Evidence.gather(answers("paged_attention", unused_pages, calls))
    assert evidence.wrong
    found = read_operator(evidence, answer=lambda *_: None, budget=give_budget(evidence.wrong[0].operation.backend))
    assert found is not None
    assert found.what.startswith("each unused slot of the last page counts in every query's softmax")
