"""State a domain that contains itself."""

from .._right import *

domain = {"sigmoid": {}}
domain["sigmoid"]["d"] = domain


def sigmoid(x):
    return np.zeros_like(x)
