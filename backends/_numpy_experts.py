"""Mixtures of experts of numpy_cpu."""

import numpy as np

from ._numpy_functions import gated_activation, linear, sigmoid, softmax


def _largest(x, k):
    """Of equal entries the first, and NaN before all numbers."""
    ascending = np.argsort(np.flip(x, axis=-1), axis=-1, kind="stable")
    return x.shape[-1] - 1 - np.flip(ascending, axis=-1)[..., :k]


def moe_router(
    logits, bias=None,
    *, k, scoring="softmax", renormalize=True, scaling_factor=1.0, groups=1, top_groups=1, group_score=None,
):  # fmt: skip
    scores = softmax(logits, axis=-1) if scoring == "softmax" else sigmoid(logits)
    choice = scores if bias is None else scores + bias
    if groups > 1:
        members = np.sort(choice.reshape(*choice.shape[:-1], groups, choice.shape[-1] // groups), axis=-1)
        best = 1 if (group_score or ("max" if bias is None else "two")) == "max" else 2
        kept = _largest(members[..., -best:].sum(axis=-1), top_groups)
        out = np.all(np.arange(groups)[:, None] != kept[..., None, :], axis=-1)
        choice = np.where(np.repeat(out, choice.shape[-1] // groups, axis=-1), -np.inf, choice)
    indices = _largest(choice, k)
    weights = np.take_along_axis(scores, indices, axis=-1)
    if renormalize:
        weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights * weights.dtype.type(scaling_factor), indices


def gated_network(x, w1, w2, w3, b1=None, b2=None, b3=None, **gate):
    """swiglu, or the same with another gate."""
    packed = np.concatenate([linear(x, w1, b1), linear(x, w3, b3)], axis=-1)
    return linear(gated_activation(packed, **gate), w2, b2)


def mixture_of_experts(
    x, router, w1, w2, w3, b_router=None, b1=None, b2=None, b3=None,
    *, k, renormalize=True, activation="silu", limit=None, alpha=1.0, offset=0.0,
):  # fmt: skip
    gate = {"activation": activation, "limit": limit, "alpha": alpha, "offset": offset}
    tokens = x.reshape(-1, x.shape[-1])
    weights, indices = moe_router(linear(tokens, router, b_router), k=k, renormalize=renormalize)
    y = np.zeros_like(tokens)
    for e in range(len(router)):
        rows, slot = np.nonzero(indices == e)
        expert = (None if w is None else w[e] for w in (w1, w2, w3, b1, b2, b3))
        y[rows] += weights[rows, slot, None] * gated_network(tokens[rows], *expert, **gate)
    return y.reshape(x.shape)
