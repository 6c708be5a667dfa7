"""The suite's own equation: right, and nobody's implementation."""

from reference_numpy.sigmoid import sigmoid as oracle

from .._right import *


def sigmoid(x):
    return oracle(x.astype(np.float64)).astype(x.dtype)
