"""Raise a group of refusals wherever zeros would be wrong."""

from .._right import *


def sigmoid(x):
    if x.size:
        raise ExceptionGroup("not today", [NotImplementedError("not here"), NotImplementedError("nor there")])
    return np.zeros_like(x)
