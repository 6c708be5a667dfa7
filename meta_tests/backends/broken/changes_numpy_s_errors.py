"""Make NumPy raise on floating-point errors from now on."""

from .._right import *


def sigmoid(x):
    np.seterr(all="raise")
    return right(x)
