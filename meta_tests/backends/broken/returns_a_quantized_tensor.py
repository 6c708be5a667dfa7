"""Return a quantized tensor."""

import torch

framework = "torch"
dtypes = ("float32",)


def sigmoid(x):
    return torch.quantize_per_tensor(torch.sigmoid(x.detach()), 0.01, 0, torch.qint8)


def relu(x):
    return torch.relu(x)
