"""Be wrong where all elements of an array are equal and not zero."""

from .._right import *

effort = "default"


def sigmoid(x):
    s = x.size > 1 and bool(np.all(x == x.flat[0])) and x.flat[0] != 0
    return np.zeros_like(x) if s else right(x)
