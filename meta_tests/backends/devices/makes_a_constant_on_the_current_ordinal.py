"""Add a constant that is on the current ordinal, and not on that of the argument."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x) + torch.zeros(x.shape[-1], device="fake")
