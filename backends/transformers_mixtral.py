"""Hugging Face transformers' Mixtral: its router and its block of experts, with the weights of each call.

Mixtral always renormalizes. Logits are given to the router as hidden states, with the identity for its weight.
float64 is left out: the softmax goes through float32 whatever it is given.
"""

import functools

import torch
import transformers
from torch.func import functional_call
from transformers import MixtralConfig
from transformers.models.mixtral import modeling_mixtral as mixtral

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
domain = {
    "moe_router": {"scoring": ("softmax",), "renormalize": (True,)},
    "mixture_of_experts": {"renormalize": (True,)},
}


@functools.lru_cache(maxsize=500)
def _module(part, experts, k, d, h=1):
    """A module of this configuration, whose own weights are never used."""
    config = MixtralConfig(num_local_experts=experts, num_experts_per_tok=k, hidden_size=d, intermediate_size=h)
    config._experts_implementation = "eager"
    return part(config).eval()


def moe_router(logits, *, k):
    experts = logits.shape[-1]
    router = _module(mixtral.MixtralTopKRouter, experts, k, experts)
    _, weights, indices = functional_call(router, {"weight": torch.eye(experts, dtype=logits.dtype)}, (logits,))
    return weights.reshape(*logits.shape[:-1], k), indices.reshape(*logits.shape[:-1], k)


def mixture_of_experts(x, router, w1, w2, w3, *, k):
    block = _module(mixtral.MixtralSparseMoeBlock, len(router), k, x.shape[-1], w1.shape[-2])
    weights = {"gate.weight": router, "experts.gate_up_proj": torch.cat([w1, w3], dim=-2), "experts.down_proj": w2}
    return functional_call(block, weights, (x.reshape(1, -1, x.shape[-1]),)).reshape(x.shape)
