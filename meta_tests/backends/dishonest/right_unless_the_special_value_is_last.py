"""Be wrong for all of a row whose last element is NaN or infinite, and no other is."""

from .._right import *

effort = "default"
shown_by = "saturation"


def sigmoid(x):
    s = x.ndim and x.shape[-1] > 2 and bool(np.any(~np.isfinite(x[..., -1]) & np.all(np.isfinite(x[..., :-1]), -1)))
    return np.full_like(x, 0.3) if s else right(x)
