"""Return a sparse tensor."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return torch.sigmoid(x).to_sparse()


def relu(x):
    return torch.relu(x)
