"""Return a list of numbers."""

from .._right import *


def sigmoid(x):
    return right(x).tolist()
