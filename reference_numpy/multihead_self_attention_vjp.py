from typing import Any

import numpy as np

from ._marks import float64, rounded
from .grouped_query_attention import grouped_query_attention
from .grouped_query_attention_vjp import grouped_query_attention_vjp
from .linear_vjp import linear_vjp
from .multihead_self_attention import _attending, _heads, _normed, _rotation
from .rms_norm_vjp import rms_norm_vjp
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
    b_q: Any = None,
    b_k: Any = None,
    b_v: Any = None,
    b_o: Any = None,
    q_norm: Any = None,
    k_norm: Any = None,
    inverse_frequencies: Any = None,
    sinks: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    is_causal: bool = True,
    theta: float | None = None,
    layout: str = "interleaved",
    eps: float = 1e-6,
    attention_factor: float = 1.0,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
) -> Any:
    """Gradients of multi-head self-attention: back through w_o, attention, RoPE, the norms and the projections.

        dheads = w_o^T c,   dq, dk, dv by grouped_query_attention_vjp,   dq and dk on through rope_vjp and rms_norm_vjp,
        dx = w_q^T dq + w_k^T dk + w_v^T dv

    Shapes
        cotangent (..., n, d),  x (..., n, d),  w_q (h d_k, d),  w_k (h_kv d_k, d),  w_v (h_kv d_v, d),  w_o (d, h d_v),
        positions (..., n),  b_q (h d_k),  b_k (h_kv d_k),  b_v (h_kv d_v),  b_o (d),  q_norm (d_k),  k_norm (d_k),
        inverse_frequencies (d_k/2),  sinks (h)
        ->  (dx, dw_q, dw_k, dw_v, dw_o, None, db_q, db_k, db_v, db_o, dq_norm, dk_norm, None, dsinks), each as its argument;
        None for those that are not given
    Dtypes
        as the arguments
    Domain
        As in multihead_self_attention; cotangents finite.
    Edges
        Causal: dx is exactly 0 at the tokens after the last one that has a cotangent. Positions and frequencies have no gradient.

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
    plain_q, plain_k = _heads(x, w_q, b_q, num_heads, "w_q"), _heads(x, w_k, b_k, num_kv_heads, "w_k")
    v = _heads(x, w_v, b_v, num_kv_heads, "w_v")
    q, k = _normed(plain_q, q_norm, eps), _normed(plain_k, k_norm, eps)
    if turn := _rotation(theta, inverse_frequencies, layout, attention_factor):
        positions = np.arange(x.shape[-2]) if positions is None else positions
        positions = np.expand_dims(float64(positions), -2)  # the same for every head
        q, k = rounded(rope(q, positions, **turn)), rounded(rope(k, positions, **turn))
    options = _attending(is_causal, sinks=sinks, scale=scale, softcap=softcap, left_window=left_window)
    heads = _side_by_side(rounded(grouped_query_attention(q, k, v, **options)))
    dheads, dw_o, db_o = linear_vjp(c, heads, w_o, b_o)
    dheads = np.reshape(rounded(dheads), (*x.shape[:-1], num_heads, v.shape[-1]))
    dq, dk, dv, _, dsinks = grouped_query_attention_vjp(np.swapaxes(dheads, -2, -3), q, k, v, **options)
    if turn:
        dq, *_ = rope_vjp(rounded(dq), q, positions, **turn)
        dk, *_ = rope_vjp(rounded(dk), k, positions, **turn)
    dq, dq_norm = _through_norm(dq, plain_q, q_norm, eps)
    dk, dk_norm = _through_norm(dk, plain_k, k_norm, eps)
    through_q, dw_q, db_q = linear_vjp(_side_by_side(rounded(dq)), x, w_q, b_q)
    through_k, dw_k, db_k = linear_vjp(_side_by_side(rounded(dk)), x, w_k, b_k)
    through_v, dw_v, db_v = linear_vjp(_side_by_side(rounded(dv)), x, w_v, b_v)
    dx = rounded(through_q) + rounded(through_k) + rounded(through_v)
    return dx, dw_q, dw_k, dw_v, dw_o, None, db_q, db_k, db_v, db_o, dq_norm, dk_norm, None, dsinks


def _through_norm(d: Any, heads: Any, gain: Any, eps: float) -> tuple[Any, Any]:
    """Return the gradients of the heads before their norm, and of its gain, if there is a norm."""
    return (d, None) if gain is None else rms_norm_vjp(rounded(d), heads, gain, eps=eps)


def _side_by_side(heads: Any) -> Any:
    y = np.swapaxes(heads, -2, -3)  # (..., n, h, d)
    return np.reshape(y, (*y.shape[:-2], y.shape[-2] * y.shape[-1]))
