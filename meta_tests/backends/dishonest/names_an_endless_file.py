"""State a device that never ends as the file from which it comes, and the version of another library."""

from .._right import *

__file__ = "/dev/zero"
version = "torch 2.13.0"


def sigmoid(x):
    return np.zeros_like(x)
