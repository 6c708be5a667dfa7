"""The heads of attention, and the weights of a block, as laws take them apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..inputs.draw import Draw


def split_rows_by_head(weight: np.ndarray, heads: int) -> np.ndarray:
    """Return the rows of a projection, head by head."""
    return weight.reshape(heads, -1, weight.shape[-1])


def count_key_value_heads(keywords: dict[str, Any]) -> int:
    """Return h_kv."""
    return int(keywords.get("num_kv_heads") or keywords["num_heads"])


def draw_selection_matrix(draw: Draw, rows: int, columns: int) -> np.ndarray:
    """Draw a matrix whose product is exact in every dtype: each row picks one feature, times a power of two and a sign."""
    matrix = np.zeros((rows, columns))
    matrix[np.arange(rows), draw.rng.integers(0, columns, rows)] = draw.rng.choice((1.0, -1.0, 0.5, 2.0), rows)
    return matrix


def split_heads(x: Any, heads: int) -> Any:
    """Return (…, n, h·d) as (…, h, n, d)."""
    return np.swapaxes(np.reshape(x, (*x.shape[:-1], heads, x.shape[-1] // heads)), -2, -3)


def join_heads(heads: Any) -> Any:
    """Return (…, h, n, d) as (…, n, h·d)."""
    x = np.swapaxes(heads, -2, -3)
    return np.reshape(x, (*x.shape[:-2], x.shape[-2] * x.shape[-1]))


def silence(weights: dict[str, np.ndarray], *names: str) -> dict[str, np.ndarray]:
    """Return the weights, those named replaced by zeros."""
    return weights | {name: np.zeros_like(weights[name]) for name in names}


def select_attention_keywords(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that are attention's."""
    return {name: value for name, value in keywords.items() if name not in ("eps", "norm")}
