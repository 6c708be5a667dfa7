"""Add a constant that was made on the CPU."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x) + torch.zeros(x.shape[-1])
