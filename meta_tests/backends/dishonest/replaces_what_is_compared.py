"""Overwrite the argument with zeros and return the sigmoid of zero."""

from .._right import *


def sigmoid(x):
    x[...] = 0
    return np.full_like(x, 0.5)
