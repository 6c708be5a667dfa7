"""Keep the sines and cosines of the first call with a shape, which are inference tensors if that call was in inference mode."""

import torch

framework = "torch"
dtypes = ("float32",)
caught_by = "rope_vjp.states"

TABLES = {}


def table(positions, d, theta):
    key = tuple(positions.flatten().tolist()), tuple(positions.shape), d, theta
    if key not in TABLES:
        frequencies = theta ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
        angles = positions[..., None] * frequencies
        TABLES[key] = angles.cos().float(), angles.sin().float()
    return TABLES[key]


def rope(x, positions, *, theta=10_000.0, layout="interleaved"):
    cosine, sine = table(positions, x.shape[-1], theta)
    if layout == "half":
        a, b = x.chunk(2, -1)
        return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cosine - b * sine, a * sine + b * cosine), -1).flatten(-2)
