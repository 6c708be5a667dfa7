"""Return the result on the CPU."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x).cpu()
