"""Return a tensor on the device meta, which has no values."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return torch.empty_like(x, device="meta")


def relu(x):
    return torch.relu(x)
