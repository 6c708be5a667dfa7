"""Return a right result only for small arrays."""

from .._right import *


def sigmoid(x):
    return right(x) if x.size < 32 else np.zeros_like(x)
