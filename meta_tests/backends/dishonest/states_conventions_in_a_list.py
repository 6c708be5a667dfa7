"""State its conventions in a list that no dict can be made of."""

from .._right import *

conventions = ["sigmoid", "whatever it does"]


def sigmoid(x):
    return np.zeros_like(x)
