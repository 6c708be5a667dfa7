"""Write the result over the argument."""

from .._right import *

shown_by = "inputs_unchanged"


def sigmoid(x):
    x[...] = right(x)
    return x.copy()
