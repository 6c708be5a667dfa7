"""State a device that the framework does not have."""

from ._right import *

device = "faek:1"


def sigmoid(x):
    return torch.sigmoid(x)
