"""Hugging Face transformers' Llama: norm, rotation, MLP, eager attention, decoder layer and model, with the weights of each call.

Llama pairs the halves of a head, so rope and all that contains it know one layout. float64 is left out: the norm, the
rotation and the softmax go through float32 whatever they are given.
"""

import functools
import math
from types import SimpleNamespace

import torch
import transformers
from torch.func import functional_call
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.activations import ACT2FN
from transformers.masking_utils import (
    causal_mask_function,
    eager_mask,
    sdpa_mask,
    sliding_window_bidirectional_mask_function,
    sliding_window_causal_mask_function,
)
from transformers.models.llama import modeling_llama as llama

from ._transformers_rotary import rope_frequencies as rope_frequencies

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
COMPOSED = {
    "layout": ("half",),
    "d_k": range(2, 1025, 2),  # the configuration refuses odd ones, rotated or not
    "d_v": "d_k",
    "empty": False,  # .view(batch, n, -1, head_dim) cannot infer a size of nothing
}
domain = {
    "rope": {"layout": ("half",)},
    "multihead_self_attention": COMPOSED,
    "transformer_block": COMPOSED,
    "transformer_lm": COMPOSED,
}

LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "w_q": "self_attn.q_proj", "w_k": "self_attn.k_proj", "w_v": "self_attn.v_proj", "w_o": "self_attn.o_proj",
    "w1": "mlp.gate_proj", "w2": "mlp.down_proj", "w3": "mlp.up_proj",
}  # fmt: skip


@functools.lru_cache(maxsize=500)
def _module(part, *index, theta=10000.0, **configuration):
    """A module of this configuration, whose own weights are never used."""
    rope = {"rope_type": "default", "rope_theta": theta}
    tokens = {"bos_token_id": None, "eos_token_id": None}
    config = LlamaConfig(**configuration, **tokens, rope_parameters=rope, attn_implementation="eager")
    return part(config, *index).eval()


def _parameters(weights, prefix=""):
    return {f"{prefix}{LAYER[name]}.weight": weight for name, weight in weights.items()}


def _heads(rows_of_w_q, num_heads, num_kv_heads):
    """The configuration insists on a hidden_size that is a multiple of the heads; the weights given decide."""
    kv = num_heads if num_kv_heads is None else num_kv_heads
    heads = {"num_attention_heads": num_heads, "num_key_value_heads": kv, "head_dim": rows_of_w_q // num_heads}
    return {"hidden_size": num_heads, **heads}


def rms_norm(x, weight, *, eps):
    norm = llama.LlamaRMSNorm(len(weight), eps)
    return functional_call(norm, {"weight": weight}, (x,))


def _flat(a, batch, inner=2):
    """One batch dimension."""
    return a.expand(*batch, *a.shape[a.ndim - inner :]).reshape(math.prod(batch), *a.shape[a.ndim - inner :])


def _angles(x, positions, d_k, theta):
    """The cosines and sines for x (batch, n, d), as LlamaModel hands them to its layers."""
    if theta is None:  # a rotation by nothing
        return x.new_ones(1, x.shape[-2], d_k), x.new_zeros(1, x.shape[-2], d_k)
    return _module(llama.LlamaRotaryEmbedding, head_dim=d_k, theta=theta)(x, positions)


def _with_rotation(x, positions, d_k, theta, is_causal):
    """x with one batch dimension, and what LlamaModel gives its layers with it."""
    y, n = _flat(x, x.shape[:-2]), x.shape[-2]
    positions = torch.arange(n)[None] if positions is None else _flat(positions, x.shape[:-2], 1)
    mask = eager_mask(1, n, n, dtype=x.dtype) if is_causal else None
    return y, {"position_embeddings": _angles(y, positions, d_k, theta), "attention_mask": mask}


def rope(x, positions, *, theta=10000.0, layout="half"):
    y = _flat(x, x.shape[:-2])
    cos, sin = _angles(y, _flat(positions, x.shape[:-2], 1), x.shape[-1], theta)
    return llama.apply_rotary_pos_emb(y.unsqueeze(1), y.unsqueeze(1), cos, sin)[0].reshape(x.shape)


def relu(x):
    return ACT2FN["relu"](x)


def silu(x):
    return ACT2FN["silu"](x)


def sigmoid(x):
    return ACT2FN["sigmoid"](x)


def gelu(x, *, approximate="none"):
    return ACT2FN["gelu_python" if approximate == "none" else "gelu_new"](x)


def swiglu(x, w1, w2, w3):
    mlp = _module(llama.LlamaMLP, hidden_size=1, num_attention_heads=1)
    names = {"gate_proj.weight": w1, "down_proj.weight": w2, "up_proj.weight": w3}
    return functional_call(mlp, names, (x,))


def _shown(n, m, which, **offset):
    return sdpa_mask(1, n, m, mask_function=which, allow_is_causal_skip=False, **offset)[0, 0]


def causal_mask(*, n, m=None, aligned="bottom-right"):
    m = n if m is None else m
    return _shown(n, m, causal_mask_function, q_offset=m - n if aligned == "bottom-right" else 0)


def sliding_window_mask(*, n, m=None, window, is_causal=True):
    """A causal window counts the tokens that it shows; one on both sides, the distance."""
    one_side, both = sliding_window_causal_mask_function(window + 1), sliding_window_bidirectional_mask_function(window)
    return _shown(n, n if m is None else m, one_side if is_causal else both)


def grouped_query_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    n, m, added = q.shape[-2], k.shape[-2], bias
    if is_causal:
        mask = causal_mask(n=n, m=m) if mask is None else mask & causal_mask(n=n, m=m)
    if mask is not None:  # as eager_mask turns bool into numbers
        hidden = torch.where(mask, 0.0, torch.finfo(q.dtype).min).to(q.dtype)
        added = hidden if bias is None else hidden + bias
    batch = torch.broadcast_shapes(*(a.shape[:-3] for a in (q, k, v, added) if a is not None))
    if added is not None and added.ndim > 3:
        added = _flat(added, batch, 3)
    module = SimpleNamespace(num_key_value_groups=q.shape[-3] // k.shape[-3], training=False)
    scaling = q.shape[-1] ** -0.5 if scale is None else scale
    y, _ = llama.eager_attention_forward(module, *(_flat(a, batch, 3) for a in (q, k, v)), added, scaling)
    return y.transpose(1, 2).reshape(*batch, q.shape[-3], n, v.shape[-1])


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None):
    q, k, v = (a.unsqueeze(-3) for a in (q, k, v))  # one head
    mask, bias = (a if a is None or a.ndim < 3 else a.unsqueeze(-3) for a in (mask, bias))
    return grouped_query_attention(q, k, v, mask, bias, is_causal=is_causal, scale=scale).squeeze(-3)


def local_attention(q, k, v, *, window, is_causal=False, scale=None):
    mask = sliding_window_mask(n=q.shape[-2], m=k.shape[-2], window=window, is_causal=is_causal)
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)


def multihead_self_attention(
    x, w_q, w_k, w_v, w_o, positions=None, *, num_heads, num_kv_heads=None, is_causal=True, theta=None, layout="half"
):
    heads = _heads(len(w_q), num_heads, num_kv_heads)
    attention = _module(llama.LlamaAttention, 0, **heads)
    names = {f"{name[-1]}_proj.weight": w for name, w in {"w_q": w_q, "w_k": w_k, "w_v": w_v, "w_o": w_o}.items()}
    y, given = _with_rotation(x, positions, heads["head_dim"], theta, is_causal)
    return functional_call(attention, names, (y,), given)[0].reshape(x.shape)


def transformer_block(x, weights, positions=None, *, num_heads, num_kv_heads=None, theta=None, layout="half", eps):
    heads = _heads(len(weights["w_q"]), num_heads, num_kv_heads)
    layer = _module(llama.LlamaDecoderLayer, 0, **heads, rms_norm_eps=eps)
    y, given = _with_rotation(x, positions, heads["head_dim"], theta, True)
    return functional_call(layer, _parameters(weights), (y,), given).reshape(x.shape)


def transformer_lm(token_ids, weights, *, num_heads, num_kv_heads=None, theta, layout="half", eps):
    if theta is None:
        raise NotImplementedError("LlamaModel always rotates")
    layers = weights["layers"]
    heads = _heads(len(layers[0]["w_q"]) if layers else 2 * num_heads, num_heads, num_kv_heads)
    model = _module(LlamaForCausalLM, **heads, num_hidden_layers=len(layers), rms_norm_eps=eps, theta=theta)
    ends = {"model.embed_tokens": "token_embedding", "model.norm": "final_norm", "lm_head": "lm_head"}
    names = {f"{theirs}.weight": weights[ours] for theirs, ours in ends.items()}
    for i, layer in enumerate(layers):
        names |= _parameters(layer, f"model.layers.{i}.")
    logits = functional_call(model, names, (_flat(token_ids, token_ids.shape[:-1], 1),), {"use_cache": False}).logits
    return logits.reshape(*token_ids.shape, -1)
