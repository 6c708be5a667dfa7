"""Hugging Face transformers' gpt-oss: its router, which applies the softmax to the chosen logits, and its attention with sinks.

Logits are given to the router as hidden states, with the identity for its weight. Keys are kept in a static cache.
"""

import functools
import math

import torch
import transformers
from torch.func import functional_call
from transformers import GptOssConfig
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss

from ._transformers_attention import append, attend, attend_to_cache, make_static

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
conventions = {"causal_alignment": "bottom-right", "cache_update": "in place"}
domain = {"moe_router": {"scoring": ("softmax",), "renormalize": (True,)}}


@functools.lru_cache(maxsize=500)
def _module(part, experts=1, k=1):
    """A module of this configuration, whose own weights are never used."""
    return part(GptOssConfig(num_local_experts=experts, num_experts_per_tok=k, hidden_size=experts, intermediate_size=1)).eval()


def moe_router(logits, *, k):
    experts, rows = logits.shape[-1], logits.reshape(-1, logits.shape[-1])
    given = {"weight": torch.eye(experts, dtype=logits.dtype), "bias": torch.zeros(experts, dtype=logits.dtype)}
    _, weights, indices = functional_call(_module(gpt_oss.GptOssTopKRouter, experts, k), given, (rows,))
    return weights.reshape(*logits.shape[:-1], k), indices.reshape(*logits.shape[:-1], k)


def _no_sinks(q):
    """The model always has sinks: −∞ is none."""
    return q.new_full((q.shape[-3],), -math.inf)


def grouped_query_attention(q, k, v, mask=None, sinks=None, *, is_causal=False, scale=None, left_window=None):
    given = {"sinks": _no_sinks(q) if sinks is None else sinks}
    return attend(gpt_oss.eager_attention_forward, q, k, v, mask, is_causal, scale, left_window, **given)


def kv_cache_append(k_cache, v_cache, k, v, lengths):
    return append(make_static, k_cache, v_cache, k, v, lengths)


def attention_with_kv_cache(q, k_cache, v_cache, lengths, sinks=None, *, is_causal=True, scale=None, left_window=None):
    given, forward = {"sinks": _no_sinks(q) if sinks is None else sinks}, gpt_oss.eager_attention_forward
    return attend_to_cache(make_static, forward, q, k_cache, v_cache, lengths, is_causal, scale, left_window, **given)
