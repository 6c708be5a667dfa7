"""What the laws of attention are tried on: queries, keys and values, hidden keys, and scores as low or as large as can be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..inputs.draw import Draw, within_domain
from ..operations.grouped_query_attention import draw_heads
from ..operations.scaled_dot_product_attention import MAX_SCORES, draw_batch, draw_dims
from .keywords import accepted_keywords

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def draw_qkv(draw: Draw, *, square: bool = False, keys: int = 1) -> tuple[Arrays, tuple[int, ...]]:
    """Draw q, k and v, and return them with their batch. square: as many keys as queries. keys: at least so many."""
    n, m, d_k, d_v = draw_dims(draw, square=square, keys=keys)
    within_domain(draw, **({"m": n} if square else {}))
    b = draw_batch(draw, n * m)
    return (draw.vectors((*b, n, d_k)), draw.vectors((*b, m, d_k)), draw.vectors((*b, m, d_v))), b


def draw_grouped_qkv(draw: Draw, *, square: bool = False, query_heads: int = 1, keys: int = 1) -> tuple[Arrays, tuple[int, ...]]:
    """Draw q, k and v of several heads, and return them with the batch and the query heads: at least so many."""
    n, m, d_k, d_v = draw_dims(draw, square=square, keys=keys)
    within_domain(draw, **({"m": n} if square else {}))
    h, h_kv = draw_heads(draw, MAX_SCORES // max(2 * n * m, 1), least=query_heads)
    b = draw_batch(draw, h * n * m)
    return (draw.vectors((*b, h, n, d_k)), draw.vectors((*b, h_kv, m, d_k)), draw.vectors((*b, h_kv, m, d_v))), (*b, h)


def draw_cotangent_and_qkv(
    draw: Draw, *, square: bool = False, keys: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw a cotangent of attention, q, k and v."""
    n, m, d_k, d_v = draw_dims(draw, square=square, keys=keys)
    within_domain(draw, **({"m": n} if square else {}))
    b = draw_batch(draw, n * m)
    return tuple(draw.vectors((*b, rows, d)) for rows, d in ((n, d_v), (n, d_k), (m, d_k), (m, d_v)))  # type: ignore[return-value]


def draw_hidden_key(draw: Draw, *, grouped: bool = False) -> tuple[Arrays, dict[str, Any], int, np.ndarray]:
    """Draw q, k, v, a mask or causality as keywords, a key, and which queries see it: not all of them."""
    causal = draw.one_of(accepted_keywords(draw, "mask", "mask", "is_causal")) == "is_causal"
    square = causal or draw.shape.one_of((False, True))
    (q, k, v), b = (
        draw_grouped_qkv(draw, square=square, query_heads=2, keys=2) if grouped else draw_qkv(draw, square=square, keys=2)
    )
    n, m = q.shape[-2], k.shape[-2]
    j, mask = _hide_a_key(draw, m, None if causal else draw.mask(b, n, m))
    q, k = maybe_minimize_scores(draw, q, k)
    seen = np.broadcast_to(np.arange(n) >= j if mask is None else mask[..., j], (*b, n))
    return (q, k, v), {"is_causal": True} if causal else {"mask": mask}, j, seen


def _hide_a_key(draw: Draw, m: int, mask: np.ndarray | None) -> tuple[int, np.ndarray | None]:
    """Choose one of m keys, and hide it from most queries in the mask, if there is one. Each query keeps a key."""
    if mask is None:
        return draw.integer(1, m - 1), None  # by causality the first query does not see it
    j, mask = draw.integer(0, m - 1), mask.copy()
    away = np.asarray(draw.rng.random(mask.shape[:-1]) < 0.7)
    away.flat[0] = True
    mask[..., j] &= ~away
    mask[..., j - 1] |= away
    return j, mask


def draw_other_values(draw: Draw, shape: tuple[int, ...], largest: float) -> np.ndarray:
    """Draw finite values, ordinary or as large as they may be."""
    size = draw.one_of((1.0, 300.0, draw.format.max))
    return draw.held(draw.rng.uniform(-1, 1, shape) * min(size, largest))


def largest_safe_key(draw: Draw, q: np.ndarray) -> float:
    """Return how large a key may be so that no score can overflow, in any order of its steps."""
    return float(draw.format.max / (8 * q.shape[-1] * max(float(np.max(np.abs(q), initial=0.0)), 1.0)))


def replace_key(draw: Draw, q: np.ndarray, k: np.ndarray, v: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return k and v with another key j and another value j, finite, however large."""
    k, v = k.copy(), v.copy()
    k[..., j, :] = draw_other_values(draw, k[..., j, :].shape, largest_safe_key(draw, q))
    v[..., j, :] = draw_other_values(draw, v[..., j, :].shape, draw.format.max)
    return k, v


def spoil_key(draw: Draw, k: np.ndarray, v: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return k and v with NaN or infinities in key j, in value j, or in both."""
    k, v = k.copy(), v.copy()
    which = draw.one_of((("v",), ("k",), ("k", "v")))
    for name, x in (("k", k), ("v", v)):
        if name in which:
            x[..., j, :] = draw.one_of((np.nan, np.inf, -np.inf))
    return k, v


def maybe_minimize_scores(draw: Draw, q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q and k as they are, or such that every score is as low as the format holds, lower than any stand-in for −∞."""
    if draw.one_of((False, False, True)):
        size = 2.0 ** ((draw.format.emax - 1) // 2)
        direction = np.eye(q.shape[-1])[0] * size
        return np.broadcast_to(direction, q.shape), np.broadcast_to(-direction, k.shape)
    return q, k


def maybe_lower_scores(draw: Draw, q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q and k as they are, or with every score a thousand lower: exponentials are 0 unless the largest is subtracted."""
    if draw.one_of((False, True)):
        direction = np.eye(q.shape[-1])[0] * np.sqrt(1000 * np.sqrt(q.shape[-1]))
        return draw.held(q + direction), draw.held(k - direction)
    return q, k


def draw_key_shift(draw: Draw, shape: tuple[int, ...]) -> np.ndarray:
    """Draw what can be added exactly to keys on a grid up to 1. It moves all scores of a query by a little or by hundreds."""
    return draw.grid(shape, 16.0, 3) if draw.one_of((False, True)) else draw.grid(shape)


def add_zero_features(draw: Draw, *arrays: np.ndarray) -> list[np.ndarray]:
    """Return q, k and v with three times as many further features, all zero. v is widened only where its width is d_k."""
    tied = draw.operation.domain.get("d_v") == "d_k"
    q, k, v = (np.concatenate([x, np.zeros((*x.shape[:-1], 3 * x.shape[-1]))], axis=-1) for x in arrays)
    return [q, k, v if tied else arrays[-1]]


def tie_keys_to_value_width(draw: Draw) -> Draw:
    """Return a Draw of the same example with as many keys as values have features, where the domain restricts those.

    Then v may be the identity, and the result is the attention weights.
    """
    domain = draw.operation.domain
    width = domain.get("d_v")
    tied = {"m": domain.get(width), "d_k": "m"} if isinstance(width, str) else {"m": width}
    operation = replace(draw.operation)
    operation.__dict__["domain"] = domain | {name: allowed for name, allowed in tied.items() if allowed is not None}
    return draw.for_operation(operation)


def identity_values(k: np.ndarray) -> np.ndarray:
    """Return the identity as values: as many features as there are keys, for each entry of the batch."""
    return np.broadcast_to(np.eye(k.shape[-2]), (*k.shape[:-2], k.shape[-2], k.shape[-2])).copy()
