"""Hugging Face transformers' GPT-NeoX: its MLP with biases, its rotation, and its attention of one fused projection.

float64 is left out: the rotation and the softmax go through float32 whatever they are given.
"""

import functools

import torch
import transformers
from torch.func import functional_call
from transformers import GPTNeoXConfig
from transformers.masking_utils import eager_mask
from transformers.models.gpt_neox import modeling_gpt_neox as neox

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
domain = {
    "rope": {"layout": ("half",)},
    "multihead_self_attention": {
        "layout": ("half",),
        "d_k": range(2, 1025, 2),  # the configuration refuses odd ones, rotated or not
        "d_v": "d_k",
        "empty": False,  # .view(batch, n, -1, 3 * head_size) cannot infer a size of nothing
    },
}


@functools.lru_cache(maxsize=500)
def _module(part, *, theta=10000.0, **configuration):
    """A module of this configuration, whose own weights are never used."""
    rope = {"rope_type": "default", "rope_theta": theta, "partial_rotary_factor": 1.0}
    tokens = {"bos_token_id": None, "eos_token_id": None}
    settings = {"attention_bias": False, "attn_implementation": "eager", "rope_parameters": rope}
    return part(GPTNeoXConfig(**configuration, **tokens, **settings)).eval()


def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    mlp = _module(neox.GPTNeoXMLP, hidden_size=8, num_attention_heads=1, intermediate_size=1, hidden_act=activation)
    b1, b2 = (w.new_zeros(len(w)) if b is None else b for w, b in ((w1, b1), (w2, b2)))
    up, down = ({"weight": w, "bias": b} for w, b in ((w1, b1), (w2, b2)))
    names = {f"dense_h_to_4h.{k}": v for k, v in up.items()} | {f"dense_4h_to_h.{k}": v for k, v in down.items()}
    return functional_call(mlp, names, (x,))


def _angles(x, positions, d_k, theta):
    if theta is None:  # a rotation by nothing
        return x.new_ones(1, x.shape[-2], d_k), x.new_zeros(1, x.shape[-2], d_k)
    return _module(neox.GPTNeoXRotaryEmbedding, hidden_size=d_k, num_attention_heads=1, theta=theta)(x, positions)


def rope(x, positions, *, theta=10000.0, layout="half"):
    batch = torch.Size([x.shape[:-2].numel()])
    y = x.reshape(*batch, *x.shape[-2:])
    cos, sin = _angles(y, positions.expand(x.shape[:-1]).reshape(y.shape[:-1]), x.shape[-1], theta)
    return neox.apply_rotary_pos_emb(y.unsqueeze(1), y.unsqueeze(1), cos, sin)[0].reshape(x.shape)


def multihead_self_attention(x, w_q, w_k, w_v, w_o, positions=None, *, num_heads, is_causal=True, theta=None, layout="half"):
    d_k, n, y = len(w_q) // num_heads, x.shape[-2], x.reshape(-1, *x.shape[-2:])
    of_each_head = [w.reshape(num_heads, d_k, -1) for w in (w_q, w_k, w_v)]
    fused = torch.cat(of_each_head, dim=1).reshape(3 * len(w_q), -1)  # query, key and value of a head beside one another
    attention = _module(neox.GPTNeoXAttention, hidden_size=num_heads * d_k, num_attention_heads=num_heads)
    positions = torch.arange(n) if positions is None else positions
    given = {
        "attention_mask": eager_mask(1, n, n, dtype=x.dtype) if is_causal else None,
        "position_embeddings": _angles(y, positions.expand(x.shape[:-1]).reshape(y.shape[:-1]), d_k, theta),
    }
    names = {"query_key_value.weight": fused, "dense.weight": w_o}
    return functional_call(attention, names, (y,), given)[0].reshape(x.shape)
