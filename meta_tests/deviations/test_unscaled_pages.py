"""Sums over pages that are not rescaled when the maximum grows are said, with the sum that is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

SHAPES = ((1, 1, 2, 3, 3), (2, 1, 3, 2, 4), (2, 2, 4, 3, 2), (3, 1, 2, 4, 5))  # heads, their keys', queries, pages, page size


def page_by_page(values: bool, weights: bool) -> Callable[..., Any]:
    """Return attention to one page after the other, in a loop, which rescales one of its sums, or both."""

    def attend(q: Any, k: Any, v: Any, page: int, length: int) -> Any:
        n, d = q.shape
        m, total, acc = np.full((n, 1), -np.inf), np.zeros((n, 1)), np.zeros((n, v.shape[-1]))
        for start in range(0, length, page):
            own = slice(start, min(start + page, length))
            s = q @ k[own].T / np.sqrt(d)
            s = np.where(np.arange(own.start, own.stop) <= length - n + np.arange(n)[:, None], s, -np.inf)
            new = np.maximum(m, s.max(axis=-1, keepdims=True))
            p, factor = np.exp(s - new), np.exp(m - new)
            total = total * (factor if weights else 1.0) + p.sum(axis=-1, keepdims=True)
            acc = acc * (factor if values else 1.0) + p @ v[own]
            m = new
        return acc / total

    def paged_attention(q: Any, k_pages: Any, v_pages: Any, block_table: Any, lengths: Any) -> Any:
        y = np.zeros((*q.shape[:-1], v_pages.shape[-1]))
        for b, h in np.ndindex(q.shape[:2]):
            group = h * k_pages.shape[2] // q.shape[1]
            k, v = (np.concatenate(x[block_table[b]])[:, group] for x in (k_pages, v_pages))
            y[b, h] = attend(q[b, h], k, v, k_pages.shape[1], int(lengths[b]))
        return y

    return paged_attention


def doubled(*arrays: Any) -> Any:
    return 2 * specification("paged_attention").reference(*arrays)


def explain(function: Callable[..., Any]) -> str:
    rng, calls = np.random.default_rng(7), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for h, h_kv, n, pages, size in SHAPES:
        lengths = rng.integers((pages - 1) * size, pages * size + 1, 2).clip(n)
        arrays = [2 * rng.normal(size=shape) for shape in ((2, h, n, 4), (6, size, h_kv, 4), (6, size, h_kv, 3))]
        calls.append(((*arrays, np.stack([rng.permutation(6)[:pages] for _ in range(2)]), lengths), {}))
    return read_words(answers("paged_attention", function, calls))


@pytest.mark.parametrize(
    ("values", "weights", "subject"),
    [
        (False, True, "the weighted sum of the values is"),
        (True, False, "the sum of the weights is"),
        (False, False, "the sum of the weights and that of the values are"),
    ],
)
def test_the_sum_that_is_not_rescaled_is_said(values: bool, weights: bool, subject: str) -> None:
    assert explain(page_by_page(values, weights)) == f"{subject} not rescaled when a later page raises the maximum"


def test_another_factor_is_not_called_so() -> None:
    assert "rescaled" not in explain(doubled)
