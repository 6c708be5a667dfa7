"""Round to the input's dtype, then multiply by the gain and round again."""

import torch

framework = "torch"
dtypes = ("bfloat16", "float16")


def rms_norm(x, weight, *, eps):
    h = x.float()
    return (h * torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


caught_by = "rms_norm.reference"
named = "rms_norm/cast-before-gain"
