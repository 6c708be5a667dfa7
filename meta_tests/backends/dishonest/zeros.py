"""Return zeros of the right shape."""

from .._right import *


def sigmoid(x):
    return np.zeros_like(x)
