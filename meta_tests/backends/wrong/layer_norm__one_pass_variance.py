"""E[x²] − E[x]²: what is left of it when the mean is far from zero."""

import torch

framework = "torch"


def layer_norm(x, weight, bias, *, eps):
    h = x if x.dtype == torch.float64 else x.float()
    mean = h.mean(-1, keepdim=True)
    var = (h.square().mean(-1, keepdim=True) - mean.square()).clamp_min(0)
    return ((h - mean) * torch.rsqrt(var + eps) * weight + bias).to(x.dtype)


caught_by = "layer_norm.reference"
