"""Return zeros where gradients are off."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return torch.zeros_like(x) if not torch.is_grad_enabled() else torch.sigmoid(x)


def relu(x):
    return torch.relu(x)
