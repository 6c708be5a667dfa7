from typing import Any

import numpy as np

from ._heads import capped_scores, repeated_heads, seen_keys, with_sinks
from ._marks import float64, rounded
from .scaled_dot_product_attention import scaled_dot_product_attention
from .softmax import softmax


def grouped_query_attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    sinks: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    right_window: int | None = None,
) -> Any:
    """Attention in which several query heads in a row share one head of keys and values.

        y_i = attention(q_i, k_g, v_g),   g = i // (h / h_kv),   i = 0, ..., h - 1

    Shapes
        q (..., h, n, d_k),  k (..., h_kv, m, d_k),  v (..., h_kv, m, d_v),  mask broadcastable to (..., h, n, m),
        sinks (h)  ->  (..., h, n, d_v)
    Dtypes
        as the arguments
    Domain
        As in attention; h_kv divides h; softcap > 0; windows >= 0; sinks finite or -inf.
    Edges
        h_kv = h is attention itself, h_kv = 1 multi-query attention. The gradient of a shared head is the sum
        over its group. A query that sees no key but has a finite sink gives 0.

    Raises
        ValueError where h_kv does not divide h, or is_causal or a window is given and n is not m.
    Choices
        Groups are neighbours (each shared head repeated in place), as in the exercise, not heads taken in
        turn (i mod h_kv). Sinks, softcap and windows are as in attention_with_lse.
    Source
        Ainslie et al. 2023, arXiv:2305.13245, section 2.2. Exercise 8.

    Four query heads, two heads of values; with one key the output is the value:

    >>> grouped_query_attention(np.ones((4, 1, 1)), np.ones((2, 1, 1)), [[[5.0]], [[7.0]]])[:, 0, 0]
    array([5., 5., 7., 7.])

    """
    q = float64(q)
    k, v = repeated_heads("grouped_query_attention", q, float64(k), float64(v))
    if left_window is not None or right_window is not None or sinks is not None:
        mask = seen_keys("grouped_query_attention", q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window)
        is_causal = False
    if sinks is None:
        return scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale, softcap=softcap)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    scores = with_sinks(capped_scores(q, k, mask, scale, softcap), sinks)
    return np.matmul(rounded(softmax(scores, axis=-1))[..., : k.shape[-2]], v)
