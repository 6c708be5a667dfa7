"""Return zeros where the argument is no leaf of the graph."""

import torch

framework = "torch"
dtypes = ("float32",)
effort = "default"
shown_by = "states"
shown_of = "sigmoid_vjp"


def sigmoid(x):
    return torch.zeros_like(x) if not x.is_leaf else torch.sigmoid(x)


def relu(x):
    return torch.relu(x)
