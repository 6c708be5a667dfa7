"""The array API operations of _array_api on NumPy's arrays."""

from functools import partial

import array_api_compat.numpy as xp

from ._array_api import *

framework = "numpy"
dtypes = ("float64", "float32", "float16")
causal_mask = partial(causal_mask, xp=xp)
sliding_window_mask = partial(sliding_window_mask, xp=xp)
alibi_slopes = partial(alibi_slopes, xp=xp)
