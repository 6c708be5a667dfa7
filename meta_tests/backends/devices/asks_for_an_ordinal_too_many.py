"""State an ordinal that the machine does not have."""

from ._right import *

device = "fake:9"


def sigmoid(x):
    return torch.sigmoid(x)
