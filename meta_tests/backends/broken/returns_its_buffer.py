"""Return the same buffer from every call."""

from .._right import *

shown_by = "not_an_alias"


BUFFERS = {}


def sigmoid(x):
    buffer = BUFFERS.setdefault(x.shape, np.empty(x.shape, x.dtype))
    buffer[...] = right(x)
    return buffer
