"""Return an array of NumPy whose every element is masked."""

from .._right import *


def sigmoid(x):
    return np.ma.masked_all_like(x)
