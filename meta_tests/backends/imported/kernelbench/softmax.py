"""Softmax over the columns of a matrix, right."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


class ModelNew(nn.Module):
    def forward(self, x):
        h = x.double()
        e = (h - h.amax(1, keepdim=True)).exp()
        return (e / e.sum(1, keepdim=True)).to(x.dtype)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
