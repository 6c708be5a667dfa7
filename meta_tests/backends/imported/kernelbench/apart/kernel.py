"""A right kernel, without the problem's inputs."""

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, normalized_shape):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(normalized_shape)), nn.Parameter(torch.zeros(normalized_shape))

    def forward(self, x):
        axes = tuple(range(1, x.ndim))
        h = x.double()
        h = h - h.mean(axes, keepdim=True)
        h = h / (h.square().mean(axes, keepdim=True) + 1e-5).sqrt()
        return (h * self.weight + self.bias).to(x.dtype)
