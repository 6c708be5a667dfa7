"""Add ε to the root instead of under it."""

import torch

framework = "torch"


def rms_norm(x, weight, *, eps):
    h = x if x.dtype == torch.float64 else x.float()
    return (h / (h.square().mean(-1, keepdim=True).sqrt() + eps) * weight).to(x.dtype)


caught_by = "rms_norm.reference"
named = "rms_norm/eps-outside-sqrt"
