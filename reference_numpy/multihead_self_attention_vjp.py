from typing import Any

import numpy as np

from ._marks import float64, rounded
from .grouped_query_attention import grouped_query_attention
from .grouped_query_attention_vjp import grouped_query_attention_vjp
from .linear_vjp import linear_vjp
from .multihead_self_attention import _heads
from .rope import rope
from .rope_vjp import rope_vjp


def multihead_self_attention_vjp(
    cotangent: Any,
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    positions: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    is_causal: bool = True,
    theta: float | None = None,
    layout: str = "interleaved",
) -> Any:
    """Gradients of multi-head self-attention: back through w_o, attention, RoPE and the three projections.

        dheads = w_o^T c,   dq, dk, dv by grouped_query_attention_vjp,   each turned back by rope_vjp,
        dx = w_q^T dq + w_k^T dk + w_v^T dv

    Shapes
        cotangent (..., n, d),  x (..., n, d),  w_q (h d_k, d),  w_k (h_kv d_k, d),  w_v (h_kv d_v, d),  w_o (d, h d_v),
        positions (..., n)  ->  (dx, dw_q, dw_k, dw_v, dw_o, None), each as its argument
    Domain
        As in multihead_self_attention; cotangents finite.
    Edges
        Causal: dx is exactly 0 at the tokens after the last one that has a cotangent. Positions have no gradient.

    Raises
        ValueError as multihead_self_attention does.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2, differentiated.

    A single token is its own value: the gradient passes through w_v and w_o alone.

    >>> one = np.ones((1, 1))
    >>> [d.item() for d in multihead_self_attention_vjp(one, 5 * one, one, one, 2 * one, 3 * one, num_heads=1)[:5]]
    [6.0, 0.0, 0.0, 15.0, 10.0]
    """
    c, x = float64(cotangent), float64(x)
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    q = _heads(x, w_q, num_heads, "w_q")
    k, v = _heads(x, w_k, num_kv_heads, "w_k"), _heads(x, w_v, num_kv_heads, "w_v")
    if theta is not None:
        positions = np.arange(x.shape[-2]) if positions is None else positions
        positions = np.expand_dims(float64(positions), -2)  # the same for every head
        q = rounded(rope(q, positions, theta=theta, layout=layout))
        k = rounded(rope(k, positions, theta=theta, layout=layout))
    heads = _side_by_side(rounded(grouped_query_attention(q, k, v, is_causal=is_causal)))
    dheads, dw_o, _ = linear_vjp(c, heads, w_o)
    dheads = np.reshape(rounded(dheads), (*x.shape[:-1], num_heads, v.shape[-1]))
    dq, dk, dv, *_ = grouped_query_attention_vjp(np.swapaxes(dheads, -2, -3), q, k, v, is_causal=is_causal)
    if theta is not None:
        dq, _ = rope_vjp(rounded(dq), q, positions, theta=theta, layout=layout)
        dk, _ = rope_vjp(rounded(dk), k, positions, theta=theta, layout=layout)
    through_q, dw_q, _ = linear_vjp(_side_by_side(rounded(dq)), x, w_q)
    through_k, dw_k, _ = linear_vjp(_side_by_side(rounded(dk)), x, w_k)
    through_v, dw_v, _ = linear_vjp(_side_by_side(rounded(dv)), x, w_v)
    return rounded(through_q) + rounded(through_k) + rounded(through_v), dw_q, dw_k, dw_v, dw_o, None


def _side_by_side(heads: Any) -> Any:
    y = np.swapaxes(heads, -2, -3)  # (..., n, h, d)
    return np.reshape(y, (*y.shape[:-2], y.shape[-2] * y.shape[-1]))
