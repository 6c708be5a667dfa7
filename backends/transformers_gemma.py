"""Hugging Face transformers' Gemma: its norm, which multiplies by 1 + weight, its MLP and its decoder layer; Gemma 2's attention.

A gain g is given as the float32 weight g - 1. That is exact for 16-bit gains, but for negative ones near 0, and not for float32
ones, which are left out where a norm takes part.
"""

import functools

import torch
import transformers
from torch.func import functional_call
from transformers import GemmaConfig
from transformers.masking_utils import eager_mask
from transformers.models.gemma import modeling_gemma as gemma
from transformers.models.gemma2 import modeling_gemma2 as gemma2

from ._transformers_attention import append, attend, attend_to_cache, make_dynamic

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
conventions = {"causal_alignment": "bottom-right"}
HALF = ("bfloat16", "float16")
domain = {
    "rms_norm": {"dtype": HALF},
    "transformer_block": {
        "dtype": HALF,
        "layout": ("half",),
        "d_k": range(2, 1025, 2),  # the configuration refuses odd ones, rotated or not
        "d_v": "d_k",
        "empty": False,  # .view(batch, n, -1, head_dim) cannot infer a size of nothing
    },
}


def _above_one(gain):
    weight = gain.float() - 1
    if not torch.equal(1 + weight, gain.float()):
        raise NotImplementedError("a gain that float32 does not hold less one")
    return weight


@functools.lru_cache(maxsize=500)
def _module(part, *index, theta=10000.0, **configuration):
    """A module of this configuration, whose own weights are never used; its activation is SiLU in place of GELU."""
    rope = {"rope_type": "default", "rope_theta": theta}
    config = GemmaConfig(**configuration, rope_parameters=rope, hidden_act="silu", attn_implementation="eager")
    return part(config, *index).eval()


def rms_norm(x, weight, *, eps):
    return functional_call(gemma.GemmaRMSNorm(len(weight), eps), {"weight": _above_one(weight)}, (x,))


def swiglu(x, w1, w2, w3):
    names = {"gate_proj.weight": w1, "down_proj.weight": w2, "up_proj.weight": w3}
    return functional_call(_module(gemma.GemmaMLP, hidden_size=1, num_attention_heads=1), names, (x,))


def _angles(x, positions, d_k, theta):
    if theta is None:  # a rotation by nothing
        return x.new_ones(1, x.shape[-2], d_k), x.new_zeros(1, x.shape[-2], d_k)
    return _module(gemma.GemmaRotaryEmbedding, head_dim=d_k, theta=theta)(x, positions)


def transformer_block(x, weights, positions=None, *, num_heads, num_kv_heads=None, theta=None, layout="half", eps):
    d_k, kv = len(weights["w_q"]) // num_heads, num_heads if num_kv_heads is None else num_kv_heads
    heads = {"num_attention_heads": num_heads, "num_key_value_heads": kv, "head_dim": d_k}
    layer = _module(gemma.GemmaDecoderLayer, 0, hidden_size=num_heads, **heads, rms_norm_eps=eps)
    names = {f"self_attn.{name[-1]}_proj.weight": weights[name] for name in ("w_q", "w_k", "w_v", "w_o")}
    names |= {f"mlp.{theirs}_proj.weight": weights[ours] for theirs, ours in (("gate", "w1"), ("down", "w2"), ("up", "w3"))}
    names["input_layernorm.weight"] = _above_one(weights["attn_norm"])
    names["post_attention_layernorm.weight"] = _above_one(weights["ffn_norm"])
    n, y = x.shape[-2], x.reshape(-1, *x.shape[-2:])
    positions = torch.arange(n) if positions is None else positions
    given = {
        "attention_mask": eager_mask(1, n, n, dtype=x.dtype),
        "position_embeddings": _angles(y, positions.expand(x.shape[:-1]).reshape(y.shape[:-1]), d_k, theta),
    }
    return functional_call(layer, names, (y,), given).reshape(x.shape)


def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None, softcap=None, left_window=None):
    """Gemma 2's, which caps the scores."""
    return attend(gemma2.eager_attention_forward, q, k, v, mask, is_causal, scale, left_window, softcap=softcap)


def kv_cache_append(k_cache, v_cache, k, v, lengths):
    return append(make_dynamic, k_cache.clone(), v_cache.clone(), k, v, lengths)


def attention_with_kv_cache(q, k_cache, v_cache, lengths, *, is_causal=True, scale=None, softcap=None, left_window=None):
    given = (q, k_cache, v_cache, lengths, is_causal, scale, left_window)
    return attend_to_cache(make_dynamic, gemma2.eager_attention_forward, *given, softcap=softcap)
