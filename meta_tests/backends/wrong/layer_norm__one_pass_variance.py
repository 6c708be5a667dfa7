"""Compute the variance as E[x²] − E[x]², which loses its digits when the mean is far from zero."""

import torch

framework = "torch"


def layer_norm(x, weight, bias, *, eps):
    h = x if x.dtype == torch.float64 else x.float()
    mean = h.mean(-1, keepdim=True)
    var = (h.square().mean(-1, keepdim=True) - mean.square()).clamp_min(0)
    return ((h - mean) * torch.rsqrt(var + eps) * weight + bias).to(x.dtype)


caught_by = "layer_norm.reference"
