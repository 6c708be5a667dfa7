"""Return the result on another ordinal of the device."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x).to("fake:2")
