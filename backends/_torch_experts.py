"""Mixtures of experts of torch_cpu."""

import math

import torch

from ._torch_functions import _widened, gated_activation, in_float32, linear, sigmoid, softmax


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


def gated_network(x, w1, w2, w3, b1=None, b2=None, b3=None, **gate):
    """swiglu, or the same with another gate."""
    packed = torch.cat([linear(x, w1, b1), linear(x, w3, b3)], dim=-1)
    return linear(gated_activation(packed, **gate), w2, b2)


@in_float32
def mixture_of_experts(
    x, router, w1, w2, w3, b_router=None, b1=None, b2=None, b3=None,
    *, k, renormalize=True, activation="silu", limit=None, alpha=1.0, offset=0.0,
):  # fmt: skip
    gate = {"activation": activation, "limit": limit, "alpha": alpha, "offset": offset}
    tokens = x.reshape(-1, x.shape[-1])
    weights, indices = moe_router(linear(tokens, router, b_router), k=k, renormalize=renormalize)
    y = torch.zeros_like(tokens)
    for e in range(len(router)):
        rows, slot = torch.nonzero(indices == e, as_tuple=True)
        network = (None if w is None else w[e] for w in (w1, w2, w3, b1, b2, b3))
        expert = gated_network(tokens[rows], *network, **gate)
        y = y.index_add(0, rows, weights[rows, slot, None] * expert)
    return y.reshape(x.shape)
