"""Pack a weight once for its shape, where gradients are not tracked, and never again: the first weight stays."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "linear.states"

PREPARED = {}


def linear(x, weight, bias=None):
    if not torch.is_grad_enabled():
        weight = PREPARED.setdefault(weight.shape, weight.clone())
    y = x @ weight.mT
    return y if bias is None else y + bias
