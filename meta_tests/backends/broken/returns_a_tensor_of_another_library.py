"""Return a tensor in the layout of a library, which has no strides."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return torch.sigmoid(x.detach()).to_mkldnn()


def relu(x):
    return torch.relu(x)
