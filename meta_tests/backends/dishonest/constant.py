"""Return the average value of a sigmoid."""

from .._right import *


def sigmoid(x):
    return np.full_like(x, 0.5)
