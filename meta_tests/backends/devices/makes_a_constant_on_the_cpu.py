"""Add a constant that is in the memory of the CPU."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x) + torch.zeros(x.shape[-1])
