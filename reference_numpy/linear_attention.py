from typing import Any

import numpy as np

from ._heads import copied_heads
from ._marks import as_a_whole, float64, rounded
from ._members import one_by_one
from ._recurrence import of_unit_length, recur


def linear_attention(
    q: Any,
    k: Any,
    v: Any,
    g: Any = None,
    beta: Any = None,
    state: Any = None,
    cu_seqlens: Any = None,
    *,
    scale: float | None = None,
    qk_l2norm: bool = False,
) -> Any:
    """Attention with a state in place of a cache: linear attention, gated, with the delta rule, or both.

        S' = diag(e^(g_t)) S_(t-1),   r_t = v_t - S'^T k_t,   S_t = S' + beta_t k_t r_t^T,   out_t = scale S_t^T q_t

    Without beta, r_t is v_t and beta_t is 1. Without g nothing decays. With qk_l2norm the queries and keys are
    divided by sqrt(sum of squares + 1e-6) first. Value head i reads key and query head i // (h / h_k).

    Shapes
        q and k (..., h_k, n, d_k),  v (..., h, n, d_v),  g (..., h, n, d_g),  beta (..., h, n),
        state (..., h, d_k, d_v),  cu_seqlens (members)  ->  out (..., h, n, d_v),  state (..., h, d_k, d_v)
    Dtypes
        out as the arguments; state as the arguments, or float32 or wider
        g and the given state are float32 or wider. A state is of 16 bits under the convention state_dtype alone.
    Units
        g is the logarithm of a decay. n and cu_seqlens in tokens: B + 1 of them for B members.
        d_g is 1 for a decay of the whole head, or d_k for one of each channel.
    Domain
        g <= 0, down to -200. With beta: beta >= 0 and beta |k|^2 <= 2, in 16 bits <= 1, up to roundings of beta and k.
        h_k divides h. With cu_seqlens, which begin with 0, never fall and end with n, the arrays are those of B >= 1 sequences,
        one behind the other, and have no batch; the states are (B, h, d_k, d_v).
    Edges
        Without a state it begins with zeros. n = 0 returns the state. Where g is so low that e^g is 0, or -inf, nothing from
        before shows. A member of no tokens returns its state.

    Raises
        ValueError where h_k does not divide h.
    Choices
        The state decays first, and the error is that of the decayed state, as in flash-linear-attention; the printed
        line of ONNX takes the decay out of S^T k. scale is 1 / sqrt(d_k) if None. Heads stand before tokens; a backend may
        state the other order, with its convention token_axis. A decay by head has an axis of length 1, so that it stands
        where one by channel does.
    Source
        Yang, Kautz and Hatamizadeh 2024, arXiv:2412.06464, eq. 10 (gated delta rule). Yang et al. 2024, arXiv:2406.06484.
        Kimi Linear, arXiv:2510.26692, eq. 1 (g by channel). ONNX LinearAttention-27.

    One channel: what was written with a key is read with it, and a second write with beta = 1/2 replaces half of it:

    >>> one = np.ones((1, 2, 1))
    >>> out, state = linear_attention(one, one, [[[8.0], [4.0]]], beta=[[1.0, 0.5]])
    >>> out[0, :, 0], state
    (array([8., 6.]), array([[[6.]]]))
    >>> linear_attention(one, one, 8 * one, np.log(0.5 * one))[0][0, :, 0]
    array([ 8., 12.])
    """
    if cu_seqlens is not None:
        arrays = ((q, -2), (k, -2), (v, -2), (g, -2), (beta, -1))
        return one_by_one(linear_attention, cu_seqlens, arrays, state, scale=scale, qk_l2norm=qk_l2norm)
    v = float64(v)
    q, k = copied_heads("linear_attention", v, q, k)
    if qk_l2norm:
        q, k = rounded(of_unit_length(q)), rounded(of_unit_length(k))
    g, beta = (None if x is None else float64(x) for x in (g, beta))
    n, d_k = k.shape[-2:]
    start = np.zeros((*v.shape[:-2], d_k, v.shape[-1])) if state is None else float64(state)
    scale = 1 / np.sqrt(d_k) if scale is None else scale
    rows = as_a_whole(recur, q, k, v, g, beta, start, None, scale)
    return rows[..., :n, :] * scale, rows[..., n:, :]
