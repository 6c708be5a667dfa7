"""Return float64 instead of the dtype of the argument."""

from .._right import *

shown_by = "dtype_shape_device"


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x.astype(np.float64)))
