"""The first number alone."""

from .._right import *


def sigmoid(x):
    return right(x).reshape(-1)[:1].reshape((1,) * x.ndim)
