"""Keys that pad the windows of attention to near keys, and count, are said with the ends at which they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec_tests.calls.call import Call
from spec_tests.specification.registry import specification

from ..support.answered import answers, read_words

SHAPES = ((3, 4, 2, 1), (5, 2, 3, 2), (9, 3, 2, 4), (6, 4, 4, 0))  # tokens, d_k, d_v and window
WORDS = "each place of a window {} counts in the softmax as a key with score 0 and value 0"


def strips(before: bool, behind: bool) -> Callable[..., Any]:
    """Return attention of each query to a strip of keys, which zeros pad at some ends; no mask hides them."""

    def local_attention(q: Any, k: Any, v: Any, *, window: int) -> Any:
        n, rows = len(q), []
        for i in range(n):
            own = [j for j in range(i - window, i + window + 1) if 0 <= j < n or (before if j < 0 else behind)]
            keys, values = (np.array([x[j] if 0 <= j < n else 0 * x[0] for j in own]) for x in (k, v))
            e = np.exp(keys @ q[i] / np.sqrt(q.shape[-1]))
            rows.append(e @ values / e.sum())
        return np.array(rows)

    return local_attention


def halved(q: Any, k: Any, v: Any, *, window: int) -> Any:
    return specification("local_attention").reference(q, k, v, window=(window + 1) // 2)


def answer(function: Callable[..., Any]) -> list[Call]:
    rng = np.random.default_rng(3)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        (tuple(rng.normal(size=(n, d)) for d in (d_k, d_k, d_v)), {"window": window}) for n, d_k, d_v, window in SHAPES
    ]
    return answers("local_attention", function, calls)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (strips(True, True), WORDS.format("before the first key and behind the last one")),
        (strips(True, False), WORDS.format("before the first key")),
        (strips(False, True), WORDS.format("behind the last key")),
    ],
)
def test_padding_that_counts_is_said(function: Callable[..., Any], sentence: str) -> None:
    assert explain(function) == sentence


def test_another_window_is_not_called_padding() -> None:
    assert "each place of a window" not in explain(halved)


def explain(function: Callable[..., Any]) -> str:
    return read_words(answer(function))
