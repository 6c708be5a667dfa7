"""Be wrong where one element is a thousand times larger than all others."""

from .._right import *

effort = "default"


def sigmoid(x):
    a = np.sort(np.abs(x[np.isfinite(x)]).ravel())
    return np.zeros_like(x) if a.size > 1 and a[-2] > 0 and a[-1] > 1000 * a[-2] else right(x)
