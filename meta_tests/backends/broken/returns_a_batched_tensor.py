"""Return a tensor that a transform has wrapped, outside of the transform."""

import torch

framework = "torch"
dtypes = ("float32",)


def leak(x):
    kept = []
    torch.func.vmap(lambda row: kept.append(torch.sigmoid(row)) or row)(x.reshape(1, *x.shape))
    return kept[0]


def sigmoid(x):
    return leak(x)


def relu(x):
    return torch.relu(x)
