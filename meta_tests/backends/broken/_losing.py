"""A framework made of NumPy whose context can be lost, as a GPU's is after an illegal memory access."""

from numpy import *
from numpy import asarray as _asarray

LOST = []


def asarray(x, dtype=None):
    if LOST:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")
    return _asarray(x, dtype=dtype)


def lose(x):
    LOST.append(x)
    return asarray(x)
