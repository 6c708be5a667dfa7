"""Compute the angles in the half precision of the input."""

import torch

framework = "torch"
dtypes = ("bfloat16", "float16")
domain = {"rope": {"positions": "offset"}}


def rope(x, positions, *, theta=10000.0):
    d = x.shape[-1]
    frequency = (1.0 / theta ** (torch.arange(0, d, 2) / d)).to(x.dtype)
    angle = positions[..., None].to(x.dtype) * frequency
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).reshape(x.shape)


caught_by = "rope.reference"
