"""Make another ordinal the current one, and leave it so."""

from ._right import *


def sigmoid(x):
    torch.fake.set_device("fake:2")
    return torch.sigmoid(x)
