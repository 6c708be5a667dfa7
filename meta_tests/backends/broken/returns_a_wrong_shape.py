"""One axis too many."""

from .._right import *


def sigmoid(x):
    return right(x)[None]
