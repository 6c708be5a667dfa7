"""Return NotImplemented wherever zeros would be wrong."""

from .._right import *


def sigmoid(x):
    return NotImplemented if x.size else np.zeros_like(x)
