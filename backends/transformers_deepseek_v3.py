"""Hugging Face transformers' DeepSeek-V3: its router, with sigmoid scores, a bias for the choice, groups and a factor.

A group's score is always the sum of its two largest choice scores. Logits are given to the router as hidden states, with the
identity for its weight. float64 is left out: the router computes in float32 whatever it is given.
"""

import functools

import torch
import transformers
from torch.func import functional_call
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter

framework = "torch"
device = "cpu"
version = f"transformers {transformers.__version__}, torch {torch.__version__}"
dtypes = ("float32", "bfloat16", "float16")
domain = {"moe_router": {"scoring": ("sigmoid",), "group_score": ("two",), "experts": range(2, 4097)}}


@functools.lru_cache(maxsize=500)
def _router(experts, k, renormalize, factor, groups, top_groups):
    """A router of this configuration, whose own weights are never used."""
    config = DeepseekV3Config(
        n_routed_experts=experts, num_experts_per_tok=k, hidden_size=experts, norm_topk_prob=renormalize,
        routed_scaling_factor=factor, n_group=groups, topk_group=top_groups,
    )  # fmt: skip
    return DeepseekV3TopkRouter(config).eval()


def moe_router(logits, bias=None, *, k, renormalize=True, scaling_factor=1.0, groups=1, top_groups=1):
    experts = logits.shape[-1]
    if experts < 2 * groups:
        raise NotImplementedError("the score of a group is the sum of two experts' scores")
    router = _router(experts, k, renormalize, scaling_factor, groups, top_groups)
    bias = torch.zeros(experts) if bias is None else bias.float()
    given = {"weight": torch.eye(experts), "e_score_correction_bias": bias}
    _, weights, indices = functional_call(router, given, (logits.reshape(-1, experts),))  # it views its input
    return weights.reshape(*logits.shape[:-1], k), indices.reshape(*logits.shape[:-1], k)
