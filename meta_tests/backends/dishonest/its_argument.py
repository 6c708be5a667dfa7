"""Return a copy of the argument."""

from .._right import *


def sigmoid(x):
    return x.copy()
