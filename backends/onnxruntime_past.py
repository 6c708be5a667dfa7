"""ONNX Runtime's Attention with a growing cache: the keys of earlier calls go in as past, and all keys come out as present.

Each row is a call of its own, because the rows of one call are equally long.
"""

import numpy as np
import onnxruntime

from ._onnxruntime_attention import make_attributes
from ._onnxruntime_node import run_several

framework = "numpy"
version = f"onnxruntime {onnxruntime.__version__}"
conventions = {"cache_update": "returned"}
domain = {"attention_with_kv_cache": {"dtype": ("float64", "float32", "float16"), "empty": False}}


def attention_with_kv_cache(q, k_cache, v_cache, lengths, *, is_causal=True, scale=None, softcap=None):
    attributes, n, rows = make_attributes(is_causal, scale, softcap), q.shape[2], []
    if is_causal and np.any(lengths < n):
        raise NotImplementedError("each query comes with a key of its own")
    for row, length in enumerate(lengths):
        own, earlier = slice(row, row + 1), max(length - n, 0)
        new = [cache[own, :, earlier:length] for cache in (k_cache, v_cache)]
        past = [cache[own, :, :earlier] for cache in (k_cache, v_cache)]
        rows.append(run_several("Attention", ("y", "keys", "values"), q[own], *new, None, *past, **attributes)[0])
    return np.concatenate(rows)
