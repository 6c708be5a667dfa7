"""Return an array with an additional axis."""

from .._right import *


def sigmoid(x):
    return right(x)[None]
