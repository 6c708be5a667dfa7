"""Layers whose weights are cut, in the way of Megatron-LM: one part of the hidden units, the experts or the tokens a rank."""

import torch

from . import _torch_functions as whole
from ._distributed_group import RANK, copied, places_of, summed
from ._torch_experts import moe_router
from ._torch_functions import in_float32

__all__ = ["feed_forward", "glu", "layer_norm", "linear", "mixture_of_experts", "rms_norm", "swiglu"]


@in_float32
def linear(x, weight, bias=None):
    """Row-parallel: each rank has some of the features. The bias is added once, after the sum."""
    y = summed(x @ weight.mT)
    return y if bias is None else y + bias


@in_float32
def swiglu(x, w1, w2, w3, b1=None, b2=None, b3=None):
    """w1 and w3 by columns, w2 by rows: one sum over the ranks."""
    x = copied(x)
    y = summed((whole.silu(whole.linear(x, w1, b1)) * whole.linear(x, w3, b3)) @ w2.mT)
    return y if b2 is None else y + b2


@in_float32
def feed_forward(x, w1, w2, b1=None, b2=None, *, activation="relu"):
    h = {"relu": whole.relu, "gelu": whole.gelu}[activation](whole.linear(copied(x), w1, b1))
    y = summed(h @ w2.mT)
    return y if b2 is None else y + b2


@in_float32
def glu(x, w1, w2, b1=None, b2=None):
    """Column-parallel: each rank has some of the outputs."""
    return whole.glu(copied(x), w1, w2, b1, b2)


@in_float32
def rms_norm(x, weight, *, eps):
    """Sequence-parallel: each rank has some of the tokens and the whole gain, whose gradient sums all tokens in float32."""
    return whole.rms_norm(x, copied(weight), eps=eps)


@in_float32
def layer_norm(x, weight, bias, *, eps):
    return whole.layer_norm(x, copied(weight), copied(bias), eps=eps)


@in_float32
def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
    """Expert-parallel: every rank routes every token, and computes its own experts."""
    tokens = x.reshape(-1, x.shape[-1])
    weights, indices = moe_router(tokens @ router.mT, k=k, renormalize=renormalize)
    first = sum(map(len, places_of(w1, 0)[:RANK]))
    tokens, weights = copied(tokens), copied(weights)
    used = (tokens, weights, w1, w2, w3)
    y = torch.zeros_like(tokens) + sum(x[:0].sum() for x in used)  # a rank without experts takes part in the backward pass, too
    for e in range(len(w1)):
        rows, slot = torch.nonzero(indices == first + e, as_tuple=True)
        y = y.index_add(0, rows, weights[rows, slot, None] * whole.swiglu(tokens[rows], w1[e], w2[e], w3[e]))
    return summed(y).reshape(x.shape)
