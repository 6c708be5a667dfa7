"""Return zeros where the argument is a parameter."""

import torch

framework = "torch"
dtypes = ("float32",)
effort = "default"
shown_by = "states"
shown_of = "sigmoid_vjp"


def sigmoid(x):
    return torch.zeros_like(x) if isinstance(x, torch.nn.Parameter) else torch.sigmoid(x)


def relu(x):
    return torch.relu(x)
