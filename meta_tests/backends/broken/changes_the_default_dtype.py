"""Everybody's tensors are float64 from now on."""

import torch

framework = "torch"
dtypes = ("float32",)


def relu(x):
    return x.clamp(min=0)


def sigmoid(x):
    torch.set_default_dtype(torch.float64)
    return torch.sigmoid(x)
