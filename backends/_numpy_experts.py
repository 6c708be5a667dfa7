"""Mixtures of experts of numpy_cpu."""

import numpy as np

from ._numpy_functions import linear, sigmoid, softmax, swiglu


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


def mixture_of_experts(x, router, w1, w2, w3, *, k, renormalize=True):
    tokens = x.reshape(-1, x.shape[-1])
    weights, indices = moe_router(linear(tokens, router), k=k, renormalize=renormalize)
    y = np.zeros_like(tokens)
    for e in range(len(router)):
        rows, slot = np.nonzero(indices == e)
        y[rows] += weights[rows, slot, None] * swiglu(tokens[rows], w1[e], w2[e], w3[e])
    return y.reshape(x.shape)
