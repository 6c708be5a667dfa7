"""Raise MemoryError."""

from .._right import *


def sigmoid(x):
    raise MemoryError("out of memory")
