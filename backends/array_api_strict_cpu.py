"""The array API operations of _array_api on array-api-strict, which has the standard and nothing else."""

from functools import partial

import array_api_strict as xp

from ._array_api import *

framework = "array_api_strict"
causal_mask = partial(causal_mask, xp=xp)
sliding_window_mask = partial(sliding_window_mask, xp=xp)
alibi_slopes = partial(alibi_slopes, xp=xp)
