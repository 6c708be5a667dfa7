"""Read another call's sum now and then, as in a race. The example that shows it does not show it again."""

import itertools

import torch

framework = "torch"
dtypes = ("float32",)
count = itertools.count()


def rms_norm(x, weight, *, eps):
    mean = x.square().mean(-1, keepdim=True)
    if next(count) % 3 == 2:
        mean = mean + 1
    return x * torch.rsqrt(mean + eps) * weight


caught_by = "rms_norm.repeatable"
