"""Divide by n - 1."""

import torch

framework = "torch"


def layer_norm(x, weight, bias, *, eps):
    h = x if x.dtype == torch.float64 else x.float()
    var, mean = torch.var_mean(h, -1, correction=min(1, x.shape[-1] - 1), keepdim=True)
    return ((h - mean) * torch.rsqrt(var + eps) * weight + bias).to(x.dtype)


caught_by = "layer_norm.reference"
named = "layer_norm/unbiased-variance"
