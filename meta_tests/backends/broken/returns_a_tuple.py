"""Return a tuple that holds the result."""

from .._right import *


def sigmoid(x):
    return (right(x),)
