"""Detach the weight, so that it has no gradient, as `weight.data` does."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "rms_norm_vjp.all_gradients"


def rms_norm(x, weight, *, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.detach()
