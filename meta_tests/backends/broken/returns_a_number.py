"""A number of Python's."""

from .._right import *


def sigmoid(x):
    return 0.5
