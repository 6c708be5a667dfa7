"""Return an object that NumPy converts to an array."""

from .._right import *


class Array:
    def __init__(self, x):
        self.x, self.dtype, self.shape = x, x.dtype, x.shape

    def __array__(self, dtype=None, copy=None):
        return self.x


def sigmoid(x):
    return Array(right(x))
