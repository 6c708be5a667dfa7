"""Computed in place, and handed out."""

from .._right import *

shown_by = "not_an_alias"


def sigmoid(x):
    x[...] = right(x)
    return x
