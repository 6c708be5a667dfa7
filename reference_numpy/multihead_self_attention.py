from typing import Any

import numpy as np

from ._marks import float64, rounded
from .grouped_query_attention import grouped_query_attention
from .linear import linear
from .rope import rope


def _heads(x: Any, weight: Any, heads: int, name: str) -> Any:
    weight = float64(weight)
    if weight.shape[0] % heads:
        raise ValueError(f"multihead_self_attention: the {weight.shape[0]} rows of {name} do not make {heads} heads.")
    y = rounded(linear(x, weight))
    return np.swapaxes(np.reshape(y, (*x.shape[:-1], heads, weight.shape[0] // heads)), -2, -3)  # (..., heads, n, d)


def multihead_self_attention(
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
    """Multi-head self-attention, causal by default, with rotary positions if theta is given.

        y = w_o concat(head_1, ..., head_h),   head_i = attention(rope((w_q x)_i), rope((w_k x)_g), (w_v x)_g)

    where g = i // (h / h_kv) is the key/value head that serves query head i.

    Shapes
        x (..., n, d),  w_q (h d_k, d),  w_k (h_kv d_k, d),  w_v (h_kv d_v, d),  w_o (d, h d_v),  positions (..., n)
        ->  (..., n, d)
    Domain
        All finite; positions any integers.
    Edges
        theta = None: no RoPE, and positions are ignored. theta without positions: 0, ..., n - 1. A token's
        output does not depend on later tokens. w_o = 0 gives zeros.

    Raises
        ValueError where the rows of w_q, w_k or w_v do not make the heads, h_kv does not divide h, d_k is odd
        under RoPE, or layout is unknown.
    Choices
        Head i is the i-th block of d_k rows. Positions mask nothing: causal is by index. RoPE turns queries and
        keys, all heads alike, never values. No biases, no dropout; the exercise has biases and no mask.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2. CS336 assignment 1, eqs. (12) to (14). Exercise 2.

    With identity weights and x = 0 in the scored feature, each token is the mean of those before it:

    >>> q = k = [[1.0, 0.0]]
    >>> multihead_self_attention([[0.0, 2.0], [0.0, 4.0]], q, k, [[0.0, 1.0]], [[0.0], [1.0]], num_heads=1)
    array([[0., 2.],
           [0., 3.]])

    """
    x = float64(x)
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    q = _heads(x, w_q, num_heads, "w_q")
    k, v = _heads(x, w_k, num_kv_heads, "w_k"), _heads(x, w_v, num_kv_heads, "w_v")
    if theta is not None:
        positions = np.arange(x.shape[-2]) if positions is None else positions
        positions = np.expand_dims(float64(positions), -2)  # the same for every head
        q = rounded(rope(q, positions, theta=theta, layout=layout))
        k = rounded(rope(k, positions, theta=theta, layout=layout))
    heads = np.swapaxes(rounded(grouped_query_attention(q, k, v, is_causal=is_causal)), -2, -3)
    return linear(np.reshape(heads, (*x.shape[:-1], heads.shape[-2] * heads.shape[-1])), w_o)
