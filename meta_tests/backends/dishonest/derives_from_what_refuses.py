"""Raise an error of a class of its own, derived from NotImplementedError, from TypeError and from ImportError."""

from .._right import *


class Unsure(NotImplementedError, TypeError):
    pass


def sigmoid(x):
    if np.any(x):
        raise Unsure("got an unexpected keyword argument 'x'")
    return np.full_like(x, 0.5)
