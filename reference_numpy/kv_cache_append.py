from typing import Any

import numpy as np

from ._marks import float64


def kv_cache_append(k_cache: Any, v_cache: Any, k: Any, v: Any, lengths: Any) -> Any:
    """Write new keys and values behind those that a cache holds.

        k_cache[b, :, lengths[b] + i] = k[b, :, i],   and the same for v,   i = 0, ..., n - 1

    Shapes
        k_cache (b, h_kv, M, d_k),  v_cache (b, h_kv, M, d_v),  k (b, h_kv, n, d_k),  v (b, h_kv, n, d_v),  lengths (b)
        ->  k_cache (b, h_kv, M, d_k),  v_cache (b, h_kv, M, d_v)
    Dtypes
        k_cache and v_cache as the arguments
    Units
        lengths in slots, as they were before: those that hold a key.
    Domain
        0 <= lengths, lengths + n <= M.
    Edges
        n = 0 writes nothing. Every other slot keeps its bits, whatever it holds.

    Raises
        ValueError where lengths + n exceeds M for some row.
    Choices
        lengths are those before the keys are written; attention_with_kv_cache takes those after. Here new caches are
        returned; a backend may write to the given ones instead, and states or shows that as its convention.
    Source
        ONNX TensorScatter-24. vLLM, reshape_and_cache.

    One row holds one key already, the other none:

    >>> cache, one = np.zeros((2, 1, 3, 1)), np.ones((2, 1, 1, 1))
    >>> kv_cache_append(cache, cache, 7 * one, 9 * one, np.array([1, 0]))[0][:, 0, :, 0]
    array([[0., 7., 0.],
           [7., 0., 0.]])
    """
    k_cache, v_cache, k, v = (np.array(float64(x)) for x in (k_cache, v_cache, k, v))
    n, slots = k.shape[-2], k_cache.shape[-2]
    for row, length in enumerate(np.asarray(lengths)):
        if length + n > slots:
            raise ValueError(f"kv_cache_append: row {row} has {length} keys, and {n} more exceed its {slots} slots.")
        k_cache[row, :, length : length + n] = k[row]
        v_cache[row, :, length : length + n] = v[row]
    return k_cache, v_cache
