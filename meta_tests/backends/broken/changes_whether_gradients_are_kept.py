"""Switch PyTorch's gradients off for the whole process."""

import torch

framework = "torch"
dtypes = ("float32",)


def relu(x):
    return x.clamp(min=0)


def sigmoid(x):
    torch.set_grad_enabled(False)
    return torch.sigmoid(x)
