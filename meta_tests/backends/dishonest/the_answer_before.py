"""What was right a call ago, where the shape allows it."""

from .._right import *

LAST = {}


def sigmoid(x):
    y = right(x)
    before, LAST[x.shape] = LAST.get(x.shape, y), y
    return before.copy()
