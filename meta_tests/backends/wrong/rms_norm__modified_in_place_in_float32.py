"""Normalize the upcast copy in place. If upcasting copies nothing, that is the caller's array."""

import torch

framework = "torch"
dtypes = ("float32", "bfloat16")


def rms_norm(x, weight, *, eps):
    h = x.float()
    h *= torch.rsqrt(h.square().mean(-1, keepdim=True) + eps)
    return (h * weight).to(x.dtype)


caught_by = "rms_norm.inputs_unchanged"
