"""Take the name of a backend of the suite's own."""

from .._right import *

name = "torch-cpu"


def sigmoid(x):
    return np.zeros_like(x)
