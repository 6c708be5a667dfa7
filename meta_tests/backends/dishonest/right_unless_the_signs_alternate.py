"""Be wrong where the signs of a row alternate."""

from .._right import *

effort = "default"


def sigmoid(x):
    s = x.ndim and x.shape[-1] > 2 and bool(np.any(np.all(np.sign(x[..., 1:]) * np.sign(x[..., :-1]) == -1, -1)))
    return np.full_like(x, 0.3) if s else right(x)
