"""State an ordinal that the machine does not have."""

from ._right import *

device = "cuda:63"


def sigmoid(x):
    return torch.sigmoid(x)
