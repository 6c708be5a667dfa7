from typing import Any

from ._reverse_mode import vjp
from .linear_attention import linear_attention


def linear_attention_vjp(
    cotangent: Any,
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
    """Gradients of linear_attention: from the last token to the first, with the cotangents c of out and L of the new state,

        L_t = L + scale q_t c_t^T,   p = L_t^T k_t,   D = L_t - beta_t k_t p^T,   L = e^(g_t) D for the token before
        dq = scale S_t c_t,   dk = beta_t (L_t r_t - S' p),   dv = beta_t p,   dbeta = p . r_t,   dg = sums of D S'

    dg sums D S' over the value channels, and over all channels where g is by head. Without beta, D = L_t and
    dk = L_t v_t. The state's gradient is the last L. Shared heads get the sum over the value heads that read them.

    Shapes
        cotangent: c (..., h, n, d_v) or None, l (..., h, d_k, d_v) or None;  q and k (..., h_k, n, d_k),
        v (..., h, n, d_v),  g (..., h, n, d_g),  beta (..., h, n),  state (..., h, d_k, d_v),
        cu_seqlens (members)  ->  (dq, dk, dv, dg, dbeta, dstate, None), each as its argument
    Dtypes
        as the arguments
        Those of g and the state are float32 or wider.
    Domain
        As in linear_attention; cotangents finite.
    Edges
        A result whose cotangent is None counts as one whose cotangent is 0. The gradient of an argument that is not
        given is None. Where e^g is 0, nothing flows back to what came before.
    Choices
        The chain rule, through the recurrence as a whole.
    Source
        Differentiation of Yang, Kautz and Hatamizadeh 2024, arXiv:2412.06464, eq. 10.

    >>> one, eight = [[[1.0], [1.0]]], [[[8.0], [4.0]]]
    >>> _, _, dv, _, dbeta, *_ = linear_attention_vjp((one, None), one, one, eight, beta=[[1.0, 0.5]])
    >>> dv[0, :, 0], dbeta
    (array([1.5, 0.5]), array([[12., -4.]]))
    """
    return vjp(linear_attention, cotangent, q, k, v, g, beta, state, cu_seqlens, scale=scale, qk_l2norm=qk_l2norm)
