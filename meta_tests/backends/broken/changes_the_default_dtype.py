"""Change PyTorch's default dtype to float64 for the whole process."""

import torch

framework = "torch"
dtypes = ("float32",)


def relu(x):
    return x.clamp(min=0)


def sigmoid(x):
    torch.set_default_dtype(torch.float64)
    return torch.sigmoid(x)
