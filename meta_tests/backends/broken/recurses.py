"""It calls itself for ever."""

from .._right import *


def sigmoid(x):
    return sigmoid(x)
