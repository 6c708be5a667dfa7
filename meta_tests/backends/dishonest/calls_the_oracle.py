"""Call the suite's own equation: right, but no implementation."""

from reference_numpy.sigmoid import sigmoid as oracle

from .._right import *


def sigmoid(x):
    return oracle(x.astype(np.float64)).astype(x.dtype)
