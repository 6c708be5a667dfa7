"""The array API operations of _array_api on CuPy's arrays, on a CUDA device. CUPY_TF32=1 lets CuPy multiply float32 in TF32."""

from functools import partial

import cupy
from array_api_compat import cupy as xp

from ._array_api import *

framework = "cupy"
GPU = [cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()] if cupy.is_available() else []
version = ", ".join([f"cupy {cupy.__version__}", *GPU])
causal_mask = partial(causal_mask, xp=xp)
sliding_window_mask = partial(sliding_window_mask, xp=xp)
alibi_slopes = partial(alibi_slopes, xp=xp)
