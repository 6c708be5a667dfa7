from typing import Any

from ._gated_network import gated_network_vjp, gating
from ._marks import float64, rounded
from .mixture_of_experts_vjp import mixture_of_experts_vjp
from .multihead_self_attention_vjp import multihead_self_attention_vjp
from .rms_norm import rms_norm
from .rms_norm_vjp import rms_norm_vjp
from .transformer_block import (
    _ATTENTION_OPTIONS,
    _EXPERT_OPTIONS,
    _FFN_OPTIONS,
    _MATRICES,
    _PROJECTIONS,
    _attention,
    _ffn,
    _given,
    _normed_behind,
    _required,
    _scaling,
)


def transformer_block_vjp(
    cotangent: Any,
    x: Any,
    weights: Any,
    positions: Any = None,
    inverse_frequencies: Any = None,
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    theta: float | None = None,
    layout: str = "interleaved",
    eps: float,
    norm: str = "pre",
    attention_factor: float = 1.0,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    activation: str = "silu",
    limit: float | None = None,
    alpha: float = 1.0,
    offset: float = 0.0,
    k: int | None = None,
) -> Any:
    """Gradients of one layer of a decoder: each sub-layer's, and beside them the residual path's.

        pre:   dh = c + norm_2_vjp(ffn_vjp(c)),    dx = dh + norm_1_vjp(attention_vjp(dh))
        post:  du = norm_2_vjp(c),   dh = du + ffn_vjp(du),   dt = norm_1_vjp(dh),   dx = dt + attention_vjp(dt)

    Shapes
        cotangent (..., n, d),  x (..., n, d),  weights: a dict,  positions (..., n),  inverse_frequencies (d_k/2)
        ->  (dx, dweights, None, None): dweights is a dict with the keys of weights
    Dtypes
        as the arguments
    Domain
        As in transformer_block; cotangents finite.
    Edges
        pre with w_o = 0 and w2 = 0: dx is exactly the cotangent. Causal as multihead_self_attention_vjp.

    Raises
        ValueError where norm is neither "pre" nor "post", and as multihead_self_attention does.
    Source
        Xiong et al. 2020, arXiv:2002.04745, section 3, differentiated.

    Where both sub-layers give nothing, the gradient passes unchanged:

    >>> zeros = dict.fromkeys((*_PROJECTIONS, *_MATRICES), [[0.0, 0.0], [0.0, 0.0]])
    >>> weights = zeros | {"attn_norm": [1.0, 1.0], "ffn_norm": [1.0, 10.0]}
    >>> transformer_block_vjp([[5.0, 7.0]], [[3.0, 4.0]], weights, num_heads=1, eps=1e-9)[0]
    array([[5., 7.]])
    """
    if norm not in ("pre", "post"):
        raise ValueError(f"transformer_block_vjp: norm={norm!r} is unknown; there are 'pre' and 'post'.")
    heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout, "eps": eps}
    heads |= {"scale": scale, "softcap": softcap, "left_window": left_window, **_scaling(inverse_frequencies, attention_factor)}
    gate = gating(activation, limit, alpha, offset)

    def attention_vjp(c: Any, h: Any, y: Any) -> Any:
        dy, behind = _through_norm(c, y, weights, "attn_post_norm", eps)
        given = _given(weights, *_ATTENTION_OPTIONS)
        w_q, w_k, w_v, w_o = (weights[name] for name in _PROJECTIONS)
        dh, *gradients = multihead_self_attention_vjp(dy, h, w_q, w_k, w_v, w_o, positions, **given, **heads)
        names = (*_PROJECTIONS, "positions", *_ATTENTION_OPTIONS[:-1], "inverse_frequencies", "sinks")
        return rounded(dh), _named(names, gradients) | behind

    def ffn_vjp(c: Any, h: Any, y: Any) -> Any:
        dy, behind = _through_norm(c, y, weights, "ffn_post_norm", eps)
        w1, w2, w3 = (weights[name] for name in _MATRICES)
        if weights.get("router") is not None:
            given = _given(weights, *_EXPERT_OPTIONS)
            dh, *gradients = mixture_of_experts_vjp(dy, h, weights["router"], w1, w2, w3, k=_required(k), **given, **gate)
            return rounded(dh), _named(("router", *_MATRICES, *_EXPERT_OPTIONS), gradients) | behind
        dh, *gradients = gated_network_vjp(dy, h, w1, w2, w3, **_given(weights, *_FFN_OPTIONS), **gate)
        return rounded(dh), _named((*_MATRICES, *_FFN_OPTIONS), gradients) | behind

    c, x, norm_1, norm_2 = float64(cotangent), float64(x), weights["attn_norm"], weights["ffn_norm"]
    if norm == "pre":
        inner = rounded(rms_norm(x, norm_1, eps=eps))
        attended = _attention(inner, weights, positions, heads)
        h = rounded(x + _normed_behind(attended, weights, "attn_post_norm", eps))
        normed = rounded(rms_norm(h, norm_2, eps=eps))
        fed = _ffn(normed, weights, k, gate) if weights.get("ffn_post_norm") is not None else None
        du, dffn = ffn_vjp(c, normed, fed)
        dh, dnorm_2 = rms_norm_vjp(du, h, norm_2, eps=eps)
        dh = rounded(c + rounded(dh))
        dt, dattention = attention_vjp(dh, inner, attended)
        dx, dnorm_1 = rms_norm_vjp(dt, x, norm_1, eps=eps)
        return dh + rounded(dx), {"attn_norm": dnorm_1, **dattention, "ffn_norm": dnorm_2, **dffn}, None, None
    attended = _attention(x, weights, positions, heads)
    sum_1 = rounded(x + _normed_behind(attended, weights, "attn_post_norm", eps))
    h = rounded(rms_norm(sum_1, norm_1, eps=eps))
    fed = _ffn(h, weights, k, gate)
    sum_2 = rounded(h + _normed_behind(fed, weights, "ffn_post_norm", eps))
    du, dnorm_2 = rms_norm_vjp(c, sum_2, norm_2, eps=eps)
    du = rounded(du)
    dh, dffn = ffn_vjp(du, h, fed)
    dt, dnorm_1 = rms_norm_vjp(rounded(du + dh), sum_1, norm_1, eps=eps)
    dt = rounded(dt)
    dx, dattention = attention_vjp(dt, x, attended)
    return dt + dx, {"attn_norm": dnorm_1, **dattention, "ffn_norm": dnorm_2, **dffn}, None, None


def _through_norm(c: Any, y: Any, weights: Any, name: str, eps: float) -> tuple[Any, dict[str, Any]]:
    """Return the gradient of a sub-layer's result y before the norm behind it, and of that norm's gain, if there is one."""
    if weights.get(name) is None:
        return rounded(c), {}
    dy, dgain = rms_norm_vjp(rounded(c), y, weights[name], eps=eps)
    return rounded(dy), {name: dgain}


def _named(names: tuple[str, ...], gradients: Any) -> dict[str, Any]:
    """Return the gradients by the names of the weights, without those of weights that are not given."""
    return {name: d for name, d in zip(names, gradients, strict=True) if d is not None}
