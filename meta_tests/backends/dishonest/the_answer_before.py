"""Return the answer to the previous call of the same shape."""

from .._right import *

LAST = {}


def sigmoid(x):
    y = right(x)
    before, LAST[x.shape] = LAST.get(x.shape, y), y
    return before.copy()
