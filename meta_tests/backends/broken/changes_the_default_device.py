"""Change PyTorch's default device for the whole process."""

import torch

framework = "torch"
dtypes = ("float32",)


def relu(x):
    return x.clamp(min=0)


def sigmoid(x):
    y = torch.sigmoid(x)
    torch.set_default_device("meta")
    return y
