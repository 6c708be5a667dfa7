"""Be wrong for rows that are alike."""

from .._right import *

effort = "default"


def sigmoid(x):
    if x.ndim > 1 and x.shape[0] > 1 and x.size and bool(np.all(x == x[:1])) and np.any(x):
        return np.zeros_like(x)
    return right(x)
