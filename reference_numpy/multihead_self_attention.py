from typing import Any

import numpy as np

from ._marks import float64, is_one, rounded
from .grouped_query_attention import grouped_query_attention
from .linear import linear
from .rms_norm import rms_norm
from .rope import rope


def _heads(x: Any, weight: Any, bias: Any, heads: int, name: str) -> Any:
    weight = float64(weight)
    if weight.shape[0] % heads:
        raise ValueError(f"multihead_self_attention: the {weight.shape[0]} rows of {name} do not make {heads} heads.")
    y = rounded(linear(x, weight, bias))
    return np.swapaxes(np.reshape(y, (*x.shape[:-1], heads, weight.shape[0] // heads)), -2, -3)  # (..., heads, n, d)


def _normed(heads: Any, gain: Any, eps: float) -> Any:
    return heads if gain is None else rounded(rms_norm(heads, gain, eps=eps))


def _rotation(theta: Any, inverse_frequencies: Any, layout: str, attention_factor: Any) -> dict[str, Any]:
    """Return the keywords of rope, {} if nothing is turned."""
    if theta is None and inverse_frequencies is None:
        return {}
    given = {"theta": theta} if inverse_frequencies is None else {"inverse_frequencies": inverse_frequencies}
    return given | {"layout": layout} | ({} if is_one(attention_factor) else {"attention_factor": attention_factor})


def _attending(is_causal: bool, **options: Any) -> dict[str, Any]:
    """Return the keywords of grouped_query_attention: those of the options that are given."""
    return {"is_causal": is_causal, **{name: x for name, x in options.items() if x is not None}}


def multihead_self_attention(
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
    """Multi-head self-attention, causal by default, with rotary positions if theta or inverse_frequencies is given.

        y = w_o concat(head_1, ..., head_h) + b_o,   head_i = attention(rope(q_i), rope(k_g), (w_v x + b_v)_g),
        q_i = rms_norm((w_q x + b_q)_i),   k_g = rms_norm((w_k x + b_k)_g)

    where g = i // (h / h_kv) is the key/value head that serves query head i. There is a norm only where its gain,
    q_norm or k_norm, is given.

    Shapes
        x (..., n, d),  w_q (h d_k, d),  w_k (h_kv d_k, d),  w_v (h_kv d_v, d),  w_o (d, h d_v),  positions (..., n),
        b_q (h d_k),  b_k (h_kv d_k),  b_v (h_kv d_v),  b_o (d),  q_norm (d_k),  k_norm (d_k),
        inverse_frequencies (d_k/2),  sinks (h)  ->  (..., n, d)
    Dtypes
        as the arguments
    Domain
        All finite, but sinks may be -inf; positions any integers; softcap > 0; left_window >= 0.
    Edges
        theta = None without inverse_frequencies: no RoPE, and positions are ignored. RoPE without positions:
        0, ..., n - 1. attention_factor scales queries and keys where they turn. A token's output does not depend on
        later tokens. w_o = 0 gives b_o, or zeros. Without RoPE and k_norm, b_k shifts all scores of a query alike,
        and does not show.

    Raises
        ValueError where the rows of w_q, w_k or w_v do not make the heads, h_kv does not divide h, d_k is odd
        under RoPE, or layout is unknown.
    Choices
        Head i is the i-th block of d_k rows. Positions mask nothing: causal is by index. RoPE turns queries and
        keys, all heads alike, never values. Each optional array may be given alone. A norm is of the features of
        each head and comes after the bias and before the rotation, as in Qwen3; OLMo 2 norms all heads at once. scale,
        softcap, left_window and sinks are those of grouped_query_attention: a window is by index, as causality is, and
        has left_window + 1 keys, the own one included. No dropout; the exercise has biases and no mask.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2. CS336 assignment 1, eqs. (12) to (14). Exercise 2.
        Henry et al. 2020, arXiv:2010.04245, for normed queries and keys, there by their length.

    With identity weights and x = 0 in the scored feature, each token is the mean of those before it:

    >>> q = k = [[1.0, 0.0]]
    >>> multihead_self_attention([[0.0, 2.0], [0.0, 4.0]], q, k, [[0.0, 1.0]], [[0.0], [1.0]], num_heads=1)
    array([[0., 2.],
           [0., 3.]])

    """
    x = float64(x)
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    q = _normed(_heads(x, w_q, b_q, num_heads, "w_q"), q_norm, eps)
    k = _normed(_heads(x, w_k, b_k, num_kv_heads, "w_k"), k_norm, eps)
    v = _heads(x, w_v, b_v, num_kv_heads, "w_v")
    if turn := _rotation(theta, inverse_frequencies, layout, attention_factor):
        positions = np.arange(x.shape[-2]) if positions is None else positions
        positions = np.expand_dims(float64(positions), -2)  # the same for every head
        q, k = rounded(rope(q, positions, **turn)), rounded(rope(k, positions, **turn))
    options = _attending(is_causal, sinks=sinks, scale=scale, softcap=softcap, left_window=left_window)
    heads = np.swapaxes(rounded(grouped_query_attention(q, k, v, **options)), -2, -3)
    return linear(np.reshape(heads, (*x.shape[:-1], heads.shape[-2] * heads.shape[-1])), w_o, b_o)
