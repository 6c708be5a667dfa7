"""The matrix-valued optimizer of numpy_cpu. Products are in float32 or wider, as in _numpy_functions."""

import numpy as np

from ._numpy_functions import overflow_is_inf, wide


@overflow_is_inf
def newton_schulz(x, *, steps=5, coefficients=(3.4445, -4.775, 2.0315), eps=1e-7):
    h = wide(x)
    a, b, c = (h.dtype.type(number) for number in coefficients)
    norm = np.sqrt(np.sum(np.square(h), axis=(-2, -1), keepdims=True))
    y = h / (norm + h.dtype.type(eps))
    is_tall = x.shape[-2] > x.shape[-1]
    y = y.swapaxes(-1, -2) if is_tall else y
    for _ in range(steps):
        gram = y @ y.swapaxes(-1, -2)
        y = a * y + (b * gram + c * (gram @ gram)) @ y
    return (y.swapaxes(-1, -2) if is_tall else y).astype(x.dtype)
