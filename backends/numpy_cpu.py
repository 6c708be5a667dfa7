"""NumPy, each operation in the dtype that it is given: _numpy_functions, and what is made of them.

float64 and float32 are kept throughout. float16 is computed as unfused half-precision code does: every step is rounded,
but sums and matrix products accumulate in float32, and the norms are computed in float32 as a whole.
"""

import math

import numpy as np

from ._numpy_experts import *
from ._numpy_formats import *
from ._numpy_functions import *
from ._numpy_latent import *
from ._numpy_losses import *
from ._numpy_optimizers import *
from ._numpy_rotary import *
from ._numpy_sampling import *
from ._numpy_serving import *
from ._numpy_states import *

framework = "numpy"
dtypes = ("float64", "float32", "float16")
conventions = {
    "causal_alignment": "bottom-right",
    "fully_masked_rows": "zero",
    "lse_base": "e",
    "softcap_bias": "after",
    "cache_update": "returned",
    "all_ignored": "nan",
    "residual_rounding": "rounded",
    "adamw_epsilon": "corrected",
    "adamw_decay": "before",
    "advantage_std": "unbiased",
    "empty_sequences": "counted",
    "fp4_ties": "even",
    "global_scale": "multiplier",
    "int8_range": "-128",
    "l2_epsilon": "inside",
    "muon_compute": "argument",
    "muon_momentum": "average",
    "muon_norm": "plus",
    "stored_zero_point": "value",
    "temperature_order": "first",
    "top_k_ties": "all",
    "top_p_mass": "after top_k",
    "top_p_ties": "some",
    "integer_divisor": "127",
    "small_fp8_scale": "rounded",
    "floored": "amax",
}
OPTIONAL_WEIGHTS = ("b_q", "b_k", "b_v", "b_o", "q_norm", "k_norm", "b1", "b2", "b3")
OPTIONAL_WEIGHTS += ("sinks", "attn_post_norm", "ffn_post_norm", "router", "b_router")
domain = {name: {"weights": OPTIONAL_WEIGHTS} for name in ("transformer_block", "transformer_lm")}
domain["penalize_logits"] = {"padding": True}
domain |= {name: {"slot_scales": True} for name in ("kv_cache_append", "attention_with_kv_cache", "paged_attention")}


@overflow_is_inf
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None, softcap=None):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = (wide(q) @ wide(k).swapaxes(-1, -2) * scale).astype(q.dtype)
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    if is_causal:
        scores = np.where(causal_mask(n=q.shape[-2], m=k.shape[-2]), scores, -np.inf)
    blind = np.all(scores == -np.inf, axis=-1, keepdims=True)  # a query without any key: zero
    weights = np.where(blind, 0, softmax(np.where(blind, 0, scores), axis=-1))
    return (wide(weights) @ wide(v)).astype(q.dtype)


@overflow_is_inf
def attention_with_weights(q, k, v, mask=None, *, is_causal=False, scale=None):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = (wide(q) @ wide(k).swapaxes(-1, -2) * scale).astype(q.dtype)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    if is_causal:
        scores = np.where(causal_mask(n=q.shape[-2], m=k.shape[-2]), scores, -np.inf)
    blind = np.all(scores == -np.inf, axis=-1, keepdims=True)
    weights = np.where(blind, 0, softmax(np.where(blind, 0, scores), axis=-1))
    return (wide(weights) @ wide(v)).astype(q.dtype), weights


def local_attention(q, k, v, *, window, is_causal=False, scale=None):
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)


def _split(y, heads):
    return y.reshape(*y.shape[:-1], heads, y.shape[-1] // heads).swapaxes(-2, -3)


def _join(y):
    y = y.swapaxes(-2, -3)
    return y.reshape(*y.shape[:-2], y.shape[-2] * y.shape[-1])


def multihead_self_attention(
    x, w_q, w_k, w_v, w_o, positions=None, b_q=None, b_k=None, b_v=None, b_o=None, q_norm=None, k_norm=None,
    inverse_frequencies=None, sinks=None, *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="interleaved",
    eps=1e-6, attention_factor=1.0, scale=None, softcap=None, left_window=None,
):  # fmt: skip
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    q = _split(linear(x, w_q, b_q), num_heads)
    k, v = (_split(linear(x, w, b), num_kv_heads) for w, b in ((w_k, b_k), (w_v, b_v)))
    q, k = (y if gain is None else rms_norm(y, gain, eps=eps) for y, gain in ((q, q_norm), (k, k_norm)))
    if theta is not None or inverse_frequencies is not None:
        turn = {"theta": theta, "layout": layout, "attention_factor": attention_factor}
        positions = np.arange(x.shape[-2]) if positions is None else positions[..., None, :]
        q, k = (rope(y, positions, inverse_frequencies, **turn) for y in (q, k))
    options = {"is_causal": is_causal, "scale": scale, "softcap": softcap, "left_window": left_window}
    return linear(_join(grouped_query_attention(q, k, v, sinks=sinks, **options)), w_o, b_o)


@overflow_is_inf
def transformer_block(
    x, weights, positions=None, inverse_frequencies=None,
    *, num_heads, num_kv_heads=None, theta=None, layout="interleaved", eps, norm="pre", attention_factor=1.0, scale=None,
    softcap=None, left_window=None, activation="silu", limit=None, alpha=1.0, offset=0.0, k=None,
):  # fmt: skip
    gate = {"activation": activation, "limit": limit, "alpha": alpha, "offset": offset}

    def attention(h):
        w = (weights[name] for name in ("w_q", "w_k", "w_v", "w_o"))
        options = {name: weights.get(name) for name in ("b_q", "b_k", "b_v", "b_o", "q_norm", "k_norm", "sinks")}
        options |= {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "theta": theta, "layout": layout, "eps": eps}
        options |= {"inverse_frequencies": inverse_frequencies, "attention_factor": attention_factor}
        options |= {"scale": scale, "softcap": softcap, "left_window": left_window}
        return normed(multihead_self_attention(h, *w, positions, **options), "attn_post_norm")

    def ffn(h):
        network = [weights.get(name) for name in ("w1", "w2", "w3", "b1", "b2", "b3")]
        if weights.get("router") is None:
            return normed(gated_network(h, *network, **gate), "ffn_post_norm")
        experts = (weights["router"], *network[:3], weights.get("b_router"), *network[3:])
        return normed(mixture_of_experts(h, *experts, k=k, **gate), "ffn_post_norm")

    def normed(h, name):
        return h if weights.get(name) is None else rms_norm(h, weights[name], eps=eps)

    if norm == "pre":
        h = x + attention(normed(x, "attn_norm"))
        return h + ffn(normed(h, "ffn_norm"))
    h = normed(x + attention(x), "attn_norm")
    return normed(h + ffn(h), "ffn_norm")


def transformer_lm(
    token_ids, weights, inverse_frequencies=None,
    *, num_heads, num_kv_heads=None, theta, layout="interleaved", eps, attention_factor=1.0, logit_softcap=None,
    embedding_scale=1.0, scale=None, softcap=None, left_window=None, global_every=None, local_theta=None,
    activation="silu", limit=None, alpha=1.0, offset=0.0, k=None,
):  # fmt: skip
    options = {"num_heads": num_heads, "num_kv_heads": num_kv_heads, "layout": layout, "eps": eps, "k": k}
    options |= {"activation": activation, "limit": limit, "alpha": alpha, "offset": offset, "scale": scale, "softcap": softcap}
    turn = {"theta": theta, "inverse_frequencies": inverse_frequencies, "attention_factor": attention_factor}
    local = {"left_window": left_window} | (turn if local_theta is None else {"theta": local_theta})
    h = embedding(token_ids, weights["token_embedding"])
    h = h if embedding_scale == 1 else h * embedding_scale
    for i, layer in enumerate(weights["layers"]):
        is_global = global_every is not None and (i + 1) % global_every == 0
        h = transformer_block(h, layer, **options, **(turn if is_global else local))
    y = linear(rms_norm(h, weights["final_norm"], eps=eps), weights["lm_head"])
    return y if logit_softcap is None else logit_softcap * np.tanh(y / logit_softcap)


def parameter_count(*, d_model, d_ff, num_layers, num_heads=1, num_kv_heads=None, vocab_size=0, style="decoder"):
    d_k = d_model // num_heads
    d_q, d_kv = num_heads * d_k, (num_heads if num_kv_heads is None else num_kv_heads) * d_k
    projections = 2 * d_model * (d_q + d_kv)
    if style == "decoder":
        layer = projections + 3 * d_model * d_ff + 2 * d_model
        return num_layers * layer + d_model + 2 * vocab_size * d_model
    biases = d_q + 2 * d_kv + d_model + d_ff + d_model
    layer = projections + 2 * d_model * d_ff + biases + 4 * d_model
    return num_layers * layer + vocab_size * d_model
