"""Be wrong where the last axis is sorted."""

from .._right import *

effort = "default"


def sigmoid(x):
    s = x.ndim and x.shape[-1] > 1 and x.size and bool(np.all(np.diff(x, axis=-1) >= 0))
    return np.zeros_like(x) if s else right(x)
