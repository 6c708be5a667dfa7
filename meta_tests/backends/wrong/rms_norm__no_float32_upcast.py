"""Compute in half precision throughout: squares overflow, and every step rounds."""

import torch

framework = "torch"
dtypes = ("bfloat16", "float16")


def rms_norm(x, weight, *, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


caught_by = "rms_norm.reference"
