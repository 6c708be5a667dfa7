"""Allocate more memory at once than there is."""

from .._right import *


def sigmoid(x):
    return np.ones(1 << 50, np.float32)
