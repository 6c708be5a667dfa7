"""Be wrong where the second half of each row is zero."""

from .._right import *

effort = "default"


def sigmoid(x):
    n = x.shape[-1] if x.ndim else 0
    s = n > 1 and x.size and not np.any(x[..., (n + 1) // 2 :]) and np.any(x)
    return np.zeros_like(x) if s else right(x)
