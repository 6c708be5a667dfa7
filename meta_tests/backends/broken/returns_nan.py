"""Return NaN everywhere."""

from .._right import *


def sigmoid(x):
    return x * np.float32("nan")
