"""Rows that latent attention counts and does not see are said, with the splits in which they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reference_numpy.merge_attention_states import merge_attention_states
from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

RIGHT = specification("latent_attention_absorbed").reference
SHAPES = ((1, 2, 8), (3, 4, 9), (2, 6, 12), (4, 3, 5))  # heads, queries and rows
SPLITS = 4


def with_empty_splits(q: Any, cache: Any, *, rank: int, scale: float, is_causal: bool = True) -> Any:
    """A split of which a query sees no row has an lse of 0."""
    n, m = q.shape[-2], cache.shape[-2]
    size, seen = -(-m // SPLITS), np.arange(n) + m - n + 1 if is_causal else np.full(n, m)
    empty = -(-m // size) - -(-seen // size)
    out, lse = RIGHT(q, cache, rank=rank, scale=scale, is_causal=is_causal)
    with np.errstate(divide="ignore"):
        return merge_attention_states(out, lse, 0 * out, np.broadcast_to(np.log(empty), lse.shape))


def halved(q: Any, cache: Any, *, rank: int, scale: float, is_causal: bool = True) -> Any:
    """A denominator that is too large by a factor, and not by rows."""
    out, lse = RIGHT(q, cache, rank=rank, scale=scale, is_causal=is_causal)
    return out / 2, lse + np.log(2)


def explain(function: Callable[..., Any]) -> str:
    rng, calls = np.random.default_rng(2), list[tuple[tuple[Any, ...], dict[str, Any]]]()
    for i, (h, n, m) in enumerate(SHAPES):
        options = {"rank": 3, "scale": 0.5, "is_causal": i != 2}
        calls.append(((rng.normal(size=(h, n, 5)), rng.normal(size=(m, 5))), options))
    return read_words(answers("latent_attention_absorbed", function, calls))


@pytest.mark.parametrize(
    ("function", "starts"),
    [(with_empty_splits, f"each of {SPLITS} splits of the rows in which a query sees none counts"), (halved, "")],
)
def test_rows_that_do_not_exist_are_said(function: Callable[..., Any], starts: str) -> None:
    found = explain(function)
    assert found.startswith(starts) if starts else "counts in its softmax" not in found
