"""Return a structured array whose field has the right values, and a title with control characters."""

from .._right import *

shown_by = "dtype_shape_device"


def sigmoid(x):
    y = np.zeros(x.shape, dtype=[("a\x1b[2J::error", "f4")])
    y["a\x1b[2J::error"] = right(x)
    return y
