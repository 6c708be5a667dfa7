"""Compute in place and return the argument."""

from .._right import *

shown_by = "not_an_alias"


def sigmoid(x):
    x[...] = right(x)
    return x
