"""Be wrong for all of a row whose first element is NaN or infinite."""

from .._right import *

effort = "default"


def sigmoid(x):
    y = right(x)
    if x.ndim and x.shape[-1] > 1:
        y[~np.isfinite(x[..., 0])] = np.nan
    return y
