from typing import Any

import numpy as np

from ._marks import float64
from .scaled_dot_product_attention import scaled_dot_product_attention


def grouped_query_attention(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """Attention in which several query heads in a row share one head of keys and values.

        y_i = attention(q_i, k_g, v_g),   g = i // (h / h_kv),   i = 0, ..., h - 1

    Shapes
        q (..., h, n, d_k),  k (..., h_kv, m, d_k),  v (..., h_kv, m, d_v),  mask broadcastable to (..., h, n, m)
        ->  (..., h, n, d_v)
    Domain
        As in attention; h_kv divides h.
    Edges
        h_kv = h is attention itself, h_kv = 1 multi-query attention. The gradient of a shared head is the sum
        over its group.

    Raises
        ValueError where h_kv does not divide h, or is_causal is given and n is not m.
    Choices
        Groups are neighbours (each shared head repeated in place), as in the exercise, not heads taken in
        turn (i mod h_kv).
    Source
        Ainslie et al. 2023, arXiv:2305.13245, section 2.2. Exercise 8.

    Four query heads, two heads of values; with one key the output is the value:

    >>> grouped_query_attention(np.ones((4, 1, 1)), np.ones((2, 1, 1)), [[[5.0]], [[7.0]]])[:, 0, 0]
    array([5., 5., 7., 7.])

    """
    q, k, v = float64(q), float64(k), float64(v)
    h, h_kv = q.shape[-3], k.shape[-3]
    if h % h_kv:
        raise ValueError(f"grouped_query_attention: {h} query heads cannot be shared evenly by {h_kv} key/value heads.")
    k, v = np.repeat(k, h // h_kv, axis=-3), np.repeat(v, h // h_kv, axis=-3)
    return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale)
