"""A problem that is no operation of the suite."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return 100 * torch.cumsum(x, dim=1)


def get_inputs():
    return [torch.rand(128, 4000)]


def get_init_inputs():
    return []
