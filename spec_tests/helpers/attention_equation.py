"""What the equation of attention says: scaled scores, which keys a query attends to, and how query heads share keys."""

from __future__ import annotations

from typing import Any

import numpy as np

from reference_numpy.causal_mask import causal_mask

from .assertions import exactly


def compute_scaled_scores(q: np.ndarray, k: np.ndarray) -> Any:
    """Return the scaled scores as results with an error.

    A score is a sum of d_k products. Where q and k have independent features of variance 1 its variance is d_k, and that of
    the scaled score is 1: hence 1/√d_k.
    """
    queries, keys = exactly(q), exactly(np.swapaxes(k, -1, -2))
    return queries @ keys / np.sqrt(exactly(float(q.shape[-1])))


def expand_mask(array: Any, n: int, m: int) -> Any:
    """Return a mask or bias with an entry of its own for every query and key."""
    return None if array is None else np.broadcast_to(array, (*np.shape(array)[:-2], n, m)).copy()


def find_attended_keys(q: np.ndarray, k: np.ndarray, keywords: dict[str, Any]) -> np.ndarray:
    """Return which keys each query attends to, by the mask and by causality."""
    seen: np.ndarray = expand_mask(keywords.get("mask", True), q.shape[-2], k.shape[-2])
    return seen & causal_mask(n=q.shape[-2]) if keywords.get("is_causal") else seen


def find_extremes(v: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest value of each feature, over the keys that each query sees."""
    v, seen = v[..., None, :, :], seen[..., None]
    return np.min(np.where(seen, v, np.inf), axis=-2), np.max(np.where(seen, v, -np.inf), axis=-2)


def group_size(q: np.ndarray, k: np.ndarray) -> int:
    """Return how many query heads share a head of keys and values."""
    return int(q.shape[-3] // k.shape[-3])


def repeat_shared_heads(q: np.ndarray, *shared: np.ndarray) -> list[np.ndarray]:
    """Return each head of keys or values once for every query head of its group."""
    return [np.repeat(x, group_size(q, x), axis=-3) for x in shared]
