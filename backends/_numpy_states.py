"""The operations of numpy_cpu that carry a state from call to call. Sums are in float32 or wider, as in _numpy_functions."""

import numpy as np

from ._numpy_functions import overflow_is_inf, silu, wide


@overflow_is_inf
def causal_conv1d(x, weight, bias=None, state=None, *, activation=None):
    past, n = weight.shape[-1] - 1, x.shape[-1]
    state = np.zeros((*x.shape[:-1], past), x.dtype) if state is None else state
    columns = np.concatenate([state, x], axis=-1)
    y = sum(wide(columns[..., j : j + n]) * wide(weight[:, j : j + 1]) for j in range(past + 1))
    y = (y if bias is None else y + bias[:, None]).astype(x.dtype)
    return silu(y) if activation == "silu" else y, columns[..., n:].copy()
