from typing import Any

from ._heads import seen_keys
from ._marks import float64
from .attention_with_lse_vjp import attention_with_lse_vjp


def grouped_query_attention_vjp(
    cotangent: Any,
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
    """Gradients of grouped-query attention: those of attention; each shared head gathers the sum over its group.

        dk_g = sum of dk_i,   dv_g = sum of dv_i   over the query heads i with i // (h / h_kv) = g

    Shapes
        cotangent (..., h, n, d_v),  q (..., h, n, d_k),  k (..., h_kv, m, d_k),  v (..., h_kv, m, d_v),
        mask broadcastable to (..., h, n, m),  sinks (h)  ->  (dq, dk, dv, None, dsinks), each as its argument
    Dtypes
        as the arguments
    Domain
        As in grouped_query_attention; cotangents finite.
    Edges
        h_kv = h is attention itself. With sinks the gradients are those of attention_with_lse where lse has no cotangent.

    Raises
        ValueError as grouped_query_attention does.
    Source
        Ainslie et al. 2023, arXiv:2305.13245, section 2.2, differentiated.

    Two query heads that share one head of a single key:

    >>> import numpy as np
    >>> grouped_query_attention_vjp([[[1.0]], [[2.0]]], np.ones((2, 1, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)))[2]
    array([[[3.]]])
    """
    q, k, v = float64(q), float64(k), float64(v)
    h, h_kv = q.shape[-3], k.shape[-3]
    if h % h_kv:
        raise ValueError(f"grouped_query_attention_vjp: {h} query heads cannot be shared evenly by {h_kv} key/value heads.")
    seen = seen_keys("grouped_query_attention_vjp", q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window)
    dq, dk, dv, _, dsinks = attention_with_lse_vjp((cotangent, None), q, k, v, seen, sinks, scale=scale, softcap=softcap)
    return dq, dk, dv, None, dsinks
