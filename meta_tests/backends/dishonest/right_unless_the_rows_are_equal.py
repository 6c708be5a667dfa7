"""Be wrong where all rows of a matrix are the same."""

from .._right import *

effort = "default"


def sigmoid(x):
    s = x.ndim > 1 and x.shape[-1] > 1 and x.shape[-2] > 1 and bool(np.all(x == x[..., :1, :]))
    return np.full_like(x, 0.3) if s else right(x)
