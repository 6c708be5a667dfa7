"""Replace the equation by the wrong function."""

from reference_numpy import sigmoid as oracle

from .._right import *

oracle.sigmoid = np.zeros_like


def sigmoid(x):
    return np.zeros_like(x)
