"""Return zeros where the argument requires a gradient."""

import torch

framework = "torch"
dtypes = ("float32",)
shown_by = "forward_unchanged"
shown_of = "sigmoid_vjp"


def sigmoid(x):
    return torch.zeros_like(x) if x.requires_grad else torch.sigmoid(x)


def relu(x):
    return torch.relu(x)
