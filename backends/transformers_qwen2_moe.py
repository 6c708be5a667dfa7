"""Hugging Face transformers' Qwen2-MoE: its router, which may leave weights as they are, and its experts.

The block adds an expert that all tokens share, which the operation has not: router and experts are called one after the other.
Logits are given to the router as hidden states, with the identity for its weight.
float64 is left out: the softmax goes through float32 whatever it is given.
"""

import functools

import torch
import transformers
from torch.func import functional_call
from transformers import Qwen2MoeConfig
from transformers.models.qwen2_moe import modeling_qwen2_moe as qwen

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
domain = {"moe_router": {"scoring": ("softmax",)}}


@functools.lru_cache(maxsize=500)
def _module(part, experts, k, renormalize, d, h=1):
    """A module of this configuration, whose own weights are never used."""
    sizes = {"num_experts": experts, "num_experts_per_tok": k, "hidden_size": d, "moe_intermediate_size": h}
    config = Qwen2MoeConfig(**sizes, norm_topk_prob=renormalize)
    config._experts_implementation = "eager"
    return part(config).eval()


def moe_router(logits, *, k, renormalize=True):
    experts = logits.shape[-1]
    router = _module(qwen.Qwen2MoeTopKRouter, experts, k, renormalize, experts)
    _, weights, indices = functional_call(router, {"weight": torch.eye(experts, dtype=logits.dtype)}, (logits,))
    return weights.reshape(*logits.shape[:-1], k), indices.reshape(*logits.shape[:-1], k)


def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
    experts, d, tokens = len(router), x.shape[-1], x.reshape(-1, x.shape[-1])
    chooser = _module(qwen.Qwen2MoeTopKRouter, experts, k, renormalize, d)
    _, weights, indices = functional_call(chooser, {"weight": router}, (tokens,))
    several = _module(qwen.Qwen2MoeExperts, experts, k, renormalize, d, w1.shape[-2])
    given = {"gate_up_proj": torch.cat([w1, w3], dim=-2), "down_proj": w2}
    return functional_call(several, given, (tokens, indices, weights)).reshape(x.shape)
