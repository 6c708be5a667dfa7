"""Return a Python number."""

from .._right import *


def sigmoid(x):
    return 0.5
