"""Rotate pairs (k, k + d/2) when (2k, 2k + 1) are asked for."""

import torch

framework = "torch"


def rope(x, positions, *, theta=10000.0):
    d = x.shape[-1]
    angle = positions[..., None].double() * theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    a, b = x.double().chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).to(x.dtype)


caught_by = "rope.reference"
named = "rope/half-for-interleaved"
