"""Compute vectors of 32 elements, and forget the tail of a longer row."""

from .._right import *

effort = "default"


def sigmoid(x):
    y = right(x)
    if x.ndim and x.shape[-1] > 32:
        y[..., x.shape[-1] // 32 * 32 :] = 0
    return y
