"""Sleep in C with Python's lock held: no thread sees the time pass, and no CPU time is used, as if the machine were paused."""

import ctypes

from .._right import *


def sigmoid(x):
    ctypes.PyDLL(None).sleep(3600)
    return np.zeros_like(x)
