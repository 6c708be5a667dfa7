"""Be wrong where exactly one element of a row is not zero."""

from .._right import *

effort = "default"


def sigmoid(x):
    s = x.ndim and x.shape[-1] > 2 and bool(np.any(np.sum(x != 0, axis=-1) == 1))
    return np.full_like(x, 0.3) if s else right(x)
