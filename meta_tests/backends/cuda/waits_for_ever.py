"""Launch a kernel that does not end in time."""

from ._right import *


def sigmoid(x):
    for _ in range(300):
        sleep()
    return torch.sigmoid(x)
