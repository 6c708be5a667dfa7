"""Return only the first number, in a shape that broadcasts."""

from .._right import *


def sigmoid(x):
    return right(x).reshape(-1)[:1].reshape((1,) * x.ndim)
