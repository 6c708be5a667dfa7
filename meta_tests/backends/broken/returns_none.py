"""Return None."""

from .._right import *


def sigmoid(x):
    return None
