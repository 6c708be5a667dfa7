"""Memory that is not there, of its own accord."""

from .._right import *


def sigmoid(x):
    raise MemoryError("out of memory")
