"""Be wrong where every element is negative."""

from .._right import *

effort = "default"


def sigmoid(x):
    return np.zeros_like(x) if x.size > 1 and bool(np.all(x < 0)) else right(x)
