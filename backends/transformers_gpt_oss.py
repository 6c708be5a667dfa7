"""Hugging Face transformers' gpt-oss: its router, which applies the softmax to the chosen logits.

Logits are given to the router as hidden states, with the identity for its weight.
"""

import functools

import torch
import transformers
from torch.func import functional_call
from transformers import GptOssConfig
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
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
