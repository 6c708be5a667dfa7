"""Compute a cheaper form, with other values, if a gradient is needed."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "silu_vjp.forward_unchanged"


def silu(x):
    if x.requires_grad:
        return x * torch.clamp(x / 6 + 0.5, 0, 1)
    return x * torch.sigmoid(x)
