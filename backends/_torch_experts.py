"""Mixtures of experts of torch_cpu."""

import math

import torch

from ._torch_functions import _widened, in_float32, sigmoid, softmax, swiglu


def moe_router(
    logits, bias=None,
    *, k, scoring="softmax", renormalize=True, scaling_factor=1.0, groups=1, top_groups=1, group_score=None,
):  # fmt: skip
    logits = _widened(logits)  # the weights stay in float32
    scores = softmax(logits, axis=-1) if scoring == "softmax" else sigmoid(logits)
    choice = scores if bias is None else scores + bias
    if groups > 1:
        members = choice.unflatten(-1, (groups, choice.shape[-1] // groups))
        best = 1 if (group_score or ("max" if bias is None else "two")) == "max" else 2
        kept = members.topk(min(best, members.shape[-1])).values.sum(-1).topk(top_groups).indices
        out = members.new_ones(members.shape[:-1]).scatter(-1, kept, 0).bool()
        choice = members.masked_fill(out[..., None], -math.inf).flatten(-2)
    indices = choice.topk(k).indices
    weights = scores.gather(-1, indices)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return weights * scaling_factor, indices


@in_float32
def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
    tokens = x.reshape(-1, x.shape[-1])
    weights, indices = moe_router(tokens @ router.mT, k=k, renormalize=renormalize)
    y = torch.zeros_like(tokens)
    for e in range(len(router)):
        rows, slot = torch.nonzero(indices == e, as_tuple=True)
        expert = swiglu(tokens[rows], w1[e], w2[e], w3[e])
        y = y.index_add(0, rows, weights[rows, slot, None] * expert)
    return y.reshape(x.shape)
