from typing import Any

from ._marks import float64, rounded
from .multihead_self_attention import multihead_self_attention
from .multihead_self_attention_vjp import multihead_self_attention_vjp
from .rms_norm import rms_norm
from .rms_norm_vjp import rms_norm_vjp
from .swiglu import swiglu
from .swiglu_vjp import swiglu_vjp
from .transformer_block import _ATTENTION_OPTIONS, _FFN_OPTIONS, _given, _scaling

_PROJECTIONS, _MATRICES = ("w_q", "w_k", "w_v", "w_o"), ("w1", "w2", "w3")


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
) -> Any:
    """Gradients of one layer of a decoder: each sub-layer's, and beside them the residual path's.

        pre:   dh = c + norm_2_vjp(swiglu_vjp(c)),    dx = dh + norm_1_vjp(attention_vjp(dh))
        post:  du = norm_2_vjp(c),   dh = du + swiglu_vjp(du),   dt = norm_1_vjp(dh),   dx = dt + attention_vjp(dt)

    Shapes
        cotangent (..., n, d),  x (..., n, d),  weights: a dict,  positions (..., n),  inverse_frequencies (d_k/2)
        ->  (dx, dweights, None, None): dweights is a dict with the keys of weights
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
    heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout}
    heads |= {"eps": eps, **_given(weights, *_ATTENTION_OPTIONS), **_scaling(inverse_frequencies, attention_factor)}
    biases = _given(weights, *_FFN_OPTIONS)
    w_q, w_k, w_v, w_o = (weights[name] for name in _PROJECTIONS)
    w1, w2, w3 = (weights[name] for name in _MATRICES)

    def attention(h: Any) -> Any:
        return rounded(multihead_self_attention(h, w_q, w_k, w_v, w_o, positions, **heads))

    def attention_vjp(c: Any, h: Any) -> Any:
        dh, *gradients = multihead_self_attention_vjp(rounded(c), h, w_q, w_k, w_v, w_o, positions, **heads)
        return rounded(dh), _named((*_PROJECTIONS, "positions", *_ATTENTION_OPTIONS, "inverse_frequencies"), gradients)

    def ffn_vjp(c: Any, h: Any) -> Any:
        dh, *gradients = swiglu_vjp(rounded(c), h, w1, w2, w3, **biases)
        return rounded(dh), _named((*_MATRICES, *_FFN_OPTIONS), gradients)

    c, x, norm_1, norm_2 = float64(cotangent), float64(x), weights["attn_norm"], weights["ffn_norm"]
    if norm == "pre":
        inner = rounded(rms_norm(x, norm_1, eps=eps))
        h = rounded(x + attention(inner))
        du, dffn = ffn_vjp(c, rounded(rms_norm(h, norm_2, eps=eps)))
        dh, dnorm_2 = rms_norm_vjp(du, h, norm_2, eps=eps)
        dh = rounded(c + rounded(dh))
        dt, dattention = attention_vjp(dh, inner)
        dx, dnorm_1 = rms_norm_vjp(dt, x, norm_1, eps=eps)
        return dh + rounded(dx), {"attn_norm": dnorm_1, **dattention, "ffn_norm": dnorm_2, **dffn}, None, None
    sum_1 = rounded(x + attention(x))
    h = rounded(rms_norm(sum_1, norm_1, eps=eps))
    du, dnorm_2 = rms_norm_vjp(c, rounded(h + rounded(swiglu(h, w1, w2, w3, **biases))), norm_2, eps=eps)
    du = rounded(du)
    dh, dffn = ffn_vjp(du, h)
    dt, dnorm_1 = rms_norm_vjp(rounded(du + dh), sum_1, norm_1, eps=eps)
    dt = rounded(dt)
    dx, dattention = attention_vjp(dt, x)
    return dt + dx, {"attn_norm": dnorm_1, **dattention, "ffn_norm": dnorm_2, **dffn}, None, None


def _named(names: tuple[str, ...], gradients: Any) -> dict[str, Any]:
    """Return the gradients by the names of the weights, without those of weights that are not given."""
    return {name: d for name, d in zip(names, gradients, strict=True) if d is not None}
