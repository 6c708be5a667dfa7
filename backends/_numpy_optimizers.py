"""The matrix-valued optimizer of numpy_cpu. Products are in float32 or wider, as in _numpy_functions."""

import math

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


def muon_step(
    parameter, gradient, momentum_buffer,
    *, learning_rate, momentum=0.95, nesterov=True, weight_decay=0.0, adjust="original", **settings,
):  # fmt: skip
    p, g, m = (wide(x) for x in (parameter, gradient, momentum_buffer))
    kind, (rows, columns) = p.dtype.type, p.shape
    averaged = kind(momentum) * m + kind(1 - momentum) * g
    y = kind(momentum) * averaged + kind(1 - momentum) * g if nesterov else averaged
    factor = math.sqrt(max(1, rows / columns)) if adjust == "original" else 0.2 * math.sqrt(max(rows, columns))
    update = newton_schulz(y, **settings)
    after = kind(1 - learning_rate * weight_decay) * p - kind(learning_rate * factor) * update
    return after.astype(parameter.dtype), averaged.astype(parameter.dtype)
