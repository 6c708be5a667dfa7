from typing import Any

from ._marks import float64, is_one, rounded
from .multihead_self_attention import multihead_self_attention
from .rms_norm import rms_norm
from .swiglu import swiglu

_ATTENTION_OPTIONS = ("b_q", "b_k", "b_v", "b_o", "q_norm", "k_norm")
_FFN_OPTIONS = ("b1", "b2", "b3")


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
) -> Any:
    """One layer of a decoder: causal attention, then swiglu, each beside a residual path.

        pre:   h = x + attention(rms_norm_1(x)),     y = h + swiglu(rms_norm_2(h))
        post:  h = rms_norm_1(x + attention(x)),     y = rms_norm_2(h + swiglu(h))

    Shapes
        x (..., n, d),  positions (..., n);  weights: attn_norm (d), w_q (h d_k, d), w_k (h_kv d_k, d),
        w_v (h_kv d_v, d), w_o (d, h d_v), ffn_norm (d), w1 (f, d), w2 (d, f), w3 (f, d), and any of
        b_q (h d_k), b_k (h_kv d_k), b_v (h_kv d_v), b_o (d), q_norm (d_k), k_norm (d_k), b1 (f), b2 (d), b3 (f);
        inverse_frequencies (d_k/2)  ->  (..., n, d)
    Domain
        All finite; eps > 0.
    Edges
        pre with w_o = 0 and w2 = 0, and no b_o and b2, gives exactly x. A token's output does not depend on later tokens.

    Raises
        ValueError where norm is neither "pre" nor "post", and as multihead_self_attention does.
    Choices
        rms_norm 1 has the gain attn_norm and rms_norm 2 ffn_norm, in both orders. pre leaves the residual path
        untouched and needs one more norm after the last block (transformer_lm has it); post is the order of
        Vaswani et al., who use layer_norm. The optional weights are those of multihead_self_attention and swiglu;
        the norms of queries and keys have the block's eps.
    Source
        Xiong et al. 2020, arXiv:2002.04745, section 3. CS336 assignment 1, section 3.5.

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

    def attention(h: Any) -> Any:
        w_q, w_k, w_v, w_o = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
        heads: dict[str, Any] = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout}
        given = _given(weights, *_ATTENTION_OPTIONS) | _scaling(inverse_frequencies, attention_factor)
        return rounded(multihead_self_attention(h, w_q, w_k, w_v, w_o, positions, **given, **heads, eps=eps))

    def ffn(h: Any) -> Any:
        return rounded(swiglu(h, weights["w1"], weights["w2"], weights["w3"], **_given(weights, *_FFN_OPTIONS)))

    x, norm_1, norm_2 = float64(x), weights["attn_norm"], weights["ffn_norm"]
    if norm == "pre":
        h = rounded(x + attention(rounded(rms_norm(x, norm_1, eps=eps))))
        return h + ffn(rounded(rms_norm(h, norm_2, eps=eps)))
    h = rounded(rms_norm(rounded(x + attention(x)), norm_1, eps=eps))
    return rms_norm(rounded(h + ffn(h)), norm_2, eps=eps)


def _scaling(inverse_frequencies: Any, attention_factor: Any) -> dict[str, Any]:
    """Return what scales the rotation, where it is not the default."""
    given = {} if inverse_frequencies is None else {"inverse_frequencies": inverse_frequencies}
    return given if is_one(attention_factor) else given | {"attention_factor": attention_factor}


def _given(weights: Any, *names: str) -> dict[str, Any]:
    """Return those of the optional weights that are given."""
    return {name: weights[name] for name in names if weights.get(name) is not None}
