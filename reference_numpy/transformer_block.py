from typing import Any

from ._gated_network import gated_network, gating
from ._marks import float64, is_one, rounded
from .mixture_of_experts import mixture_of_experts
from .multihead_self_attention import multihead_self_attention
from .rms_norm import rms_norm

_PROJECTIONS, _MATRICES = ("w_q", "w_k", "w_v", "w_o"), ("w1", "w2", "w3")
_ATTENTION_OPTIONS = ("b_q", "b_k", "b_v", "b_o", "q_norm", "k_norm", "sinks")
_FFN_OPTIONS = ("b1", "b2", "b3")
_EXPERT_OPTIONS = ("b_router", *_FFN_OPTIONS)


def transformer_block(
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
    """One layer of a decoder: causal attention, then a feed-forward network, each beside a residual path.

        pre:   h = x + attention(rms_norm_1(x)),     y = h + ffn(rms_norm_2(h))
        post:  h = rms_norm_1(x + attention(x)),     y = rms_norm_2(h + ffn(h))

    ffn is swiglu, with another gate if activation, limit, alpha or offset says so, or mixture_of_experts where a router is given.
    Where attn_post_norm is given, attention means rms_norm of attention with that gain; so does ffn with ffn_post_norm.

    Shapes
        x (..., n, d),  positions (..., n);  weights: attn_norm (d), w_q (h d_k, d), w_k (h_kv d_k, d),
        w_v (h_kv d_v, d), w_o (d, h d_v), ffn_norm (d), w1 (f, d), w2 (d, f), w3 (f, d), and any of
        b_q (h d_k), b_k (h_kv d_k), b_v (h_kv d_v), b_o (d), q_norm (d_k), k_norm (d_k), sinks (h), b1 (f), b2 (d), b3 (f),
        attn_post_norm (d), ffn_post_norm (d), router (experts, d), b_router (experts);
        with a router w1, w2, w3 and their biases are those of all experts, one above the other on a first axis;
        inverse_frequencies (d_k/2)  ->  (..., n, d)
    Dtypes
        as the arguments
    Domain
        All finite, but sinks may be -inf; eps > 0; softcap > 0; left_window >= 0; limit >= 0; alpha > 0, and 1 unless the
        activation is silu; with a router 1 <= k <= experts.
    Edges
        pre with w_o = 0 and w2 = 0, and no b_o and b2, gives exactly x. A token's output does not depend on later tokens.

    Raises
        ValueError where norm is neither "pre" nor "post" or a router is given without k, and as multihead_self_attention does.
    Choices
        rms_norm 1 has the gain attn_norm and rms_norm 2 ffn_norm, in both orders. pre leaves the residual path
        untouched and needs one more norm after the last block (transformer_lm has it); post is the order of
        Vaswani et al., who use layer_norm. The optional weights are those of multihead_self_attention, swiglu and
        mixture_of_experts; all norms have the block's eps. scale, softcap and left_window are those of
        multihead_self_attention. Gemma 2 and 3 have norms behind both sub-layers, inside the residual path, and
        gelu_tanh. Their gains are 1 + weight: give the sum. Mixtral and gpt-oss have experts, whose weights are renormalized.
    Source
        Xiong et al. 2020, arXiv:2002.04745, section 3. CS336 assignment 1, section 3.5. Gemma Team 2024, arXiv:2408.00118,
        section 2, for the norms behind the sub-layers.

    Where both sub-layers give nothing, pre is the identity and post normalizes twice:

    >>> zeros = dict.fromkeys(("w_q", "w_k", "w_v", "w_o", "w1", "w2", "w3"), [[0.0, 0.0], [0.0, 0.0]])
    >>> weights = zeros | {"attn_norm": [1.0, 1.0], "ffn_norm": [1.0, 10.0]}
    >>> transformer_block([[3.0, 4.0]], weights, num_heads=1, eps=1e-9)
    array([[3., 4.]])
    >>> transformer_block([[3.0, 4.0]], weights, num_heads=1, eps=1e-9, norm="post").round(4)
    array([[ 0.8485, 11.3137]])

    """
    if norm not in ("pre", "post"):
        raise ValueError(f"transformer_block: norm={norm!r} is unknown; there are 'pre' and 'post'.")
    heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout, "eps": eps}
    heads |= {"scale": scale, "softcap": softcap, "left_window": left_window, **_scaling(inverse_frequencies, attention_factor)}
    gate = gating(activation, limit, alpha, offset)

    def attention(h: Any) -> Any:
        return _normed_behind(_attention(h, weights, positions, heads), weights, "attn_post_norm", eps)

    def ffn(h: Any) -> Any:
        return _normed_behind(_ffn(h, weights, k, gate), weights, "ffn_post_norm", eps)

    x, norm_1, norm_2 = float64(x), weights["attn_norm"], weights["ffn_norm"]
    if norm == "pre":
        h = rounded(x + attention(rounded(rms_norm(x, norm_1, eps=eps))))
        return h + ffn(rounded(rms_norm(h, norm_2, eps=eps)))
    h = rounded(rms_norm(rounded(x + attention(x)), norm_1, eps=eps))
    return rms_norm(rounded(h + ffn(h)), norm_2, eps=eps)


def _attention(h: Any, weights: Any, positions: Any, heads: dict[str, Any]) -> Any:
    """Return the result of attention, before a norm behind it."""
    w_q, w_k, w_v, w_o = (weights[name] for name in _PROJECTIONS)
    return rounded(multihead_self_attention(h, w_q, w_k, w_v, w_o, positions, **_given(weights, *_ATTENTION_OPTIONS), **heads))


def _ffn(h: Any, weights: Any, k: int | None, gate: dict[str, Any]) -> Any:
    """Return the result of the feed-forward network, or of the experts, before a norm behind it."""
    w1, w2, w3 = (weights[name] for name in _MATRICES)
    if weights.get("router") is not None:
        given = _given(weights, *_EXPERT_OPTIONS)
        return rounded(mixture_of_experts(h, weights["router"], w1, w2, w3, k=_required(k), **given, **gate))
    return rounded(gated_network(h, w1, w2, w3, **_given(weights, *_FFN_OPTIONS), **gate))


def _required(k: int | None) -> int:
    """Return the number of experts of each token, which a router needs."""
    if k is None:
        raise ValueError("transformer_block: with a router k is needed, the number of experts of each token.")
    return k


def _normed_behind(y: Any, weights: Any, name: str, eps: float) -> Any:
    """Return the result of a sub-layer, normed where the gain of that name is given."""
    return y if weights.get(name) is None else rounded(rms_norm(y, weights[name], eps=eps))


def _scaling(inverse_frequencies: Any, attention_factor: Any) -> dict[str, Any]:
    """Return what scales the rotation, where it is not the default."""
    given = {} if inverse_frequencies is None else {"inverse_frequencies": inverse_frequencies}
    return given if is_one(attention_factor) else given | {"attention_factor": attention_factor}


def _given(weights: Any, *names: str) -> dict[str, Any]:
    """Return those of the optional weights that are given."""
    return {name: weights[name] for name in names if weights.get(name) is not None}
