"""Return a function that computes the result."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return lambda: torch.sigmoid(x)


def relu(x):
    return torch.relu(x)
