"""Attention to latents: which rows a query sees, and the arrays that the explicit and the absorbed form attend with."""

from typing import Any

import numpy as np

from ._marks import float64, rounded


def seen_rows(n: int, m: int, lengths: Any, is_causal: bool) -> Any:
    """Return which rows each query sees, for all heads. Of l rows, query i stands at position l - n + i."""
    lengths = np.asarray(m if lengths is None else lengths)[..., None, None, None]
    row, position = np.arange(m), lengths - n + np.arange(n)[:, None]
    return (row < lengths) & (row <= position) if is_causal else np.broadcast_to(row < lengths, (*position.shape[:-1], m))


def held_rows(x: Any, lengths: Any) -> Any:
    """Return the rows with zeros beyond lengths."""
    if lengths is None:
        return float64(x)
    return np.where((np.arange(x.shape[-2]) < np.asarray(lengths)[..., None])[..., None], float64(x), 0.0)


def explicit_operands(q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any, w_uv: Any) -> tuple[Any, Any, Any]:
    """Return queries, and the keys and values of every head, which are made of the latents."""
    shared = np.expand_dims(latent, -3)
    k_nope, v = (rounded(np.matmul(shared, np.swapaxes(float64(w), -1, -2))) for w in (w_uk, w_uv))
    k_rope = np.broadcast_to(np.expand_dims(k_rope, -3), (*k_nope.shape[:-1], k_rope.shape[-1]))
    return np.concatenate([q_nope, q_rope], axis=-1), np.concatenate([k_nope, k_rope], axis=-1), v


def absorbed_operands(q_nope: Any, q_rope: Any, latent: Any, k_rope: Any, w_uk: Any) -> tuple[Any, Any, Any]:
    """Return queries that have taken w_uk, the one head of keys, and the one head of values, which is the latents."""
    q = np.concatenate([rounded(np.matmul(q_nope, float64(w_uk))), q_rope], axis=-1)
    return q, np.expand_dims(np.concatenate([latent, k_rope], axis=-1), -3), np.expand_dims(latent, -3)


def up_projected(out: Any, w_uv: Any) -> Any:
    """Return values of attention in the latent space as values of each head."""
    return np.matmul(out, np.swapaxes(float64(w_uv), -1, -2))


def keys_and_values(cache: Any, rank: int) -> tuple[Any, Any]:
    """Return the one head of keys of a cache, and its values, which are the first columns."""
    return np.expand_dims(cache, -3), np.expand_dims(cache[..., :rank], -3)
