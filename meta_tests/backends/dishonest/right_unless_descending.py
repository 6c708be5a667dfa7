"""Be wrong where the last axis descends."""

from .._right import *

effort = "default"


def sigmoid(x):
    s = x.ndim and x.shape[-1] > 2 and bool(np.all(np.diff(x, axis=-1) <= 0))
    return np.full_like(x, 0.3) if s else right(x)
