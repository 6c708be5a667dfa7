from typing import Any

import numpy as np

from ._caches import check_cache, quantized, written


def kv_cache_append(
    k_cache: Any,
    v_cache: Any,
    k: Any,
    v: Any,
    lengths: Any,
    k_scale: Any = None,
    v_scale: Any = None,
    *,
    cache_dtype: str | None = None,
) -> Any:
    """Write new keys and values behind those that a cache holds.

        k_cache[b, :, lengths[b] + i] = k[b, :, i],   and the same for v,   i = 0, ..., n - 1
        with a cache_dtype:             quantize(k[b, :, i], k_scale)

    Shapes
        k_cache (b, h_kv, M, d_k),  v_cache (b, h_kv, M, d_v),  k (b, h_kv, n, d_k),  v (b, h_kv, n, d_v),  lengths (b),
        k_scale () or (h_kv) or (b, h_kv, M),  v_scale () or (h_kv) or (b, h_kv, M)
        ->  k_cache (b, h_kv, M, d_k),  v_cache (b, h_kv, M, d_v)
    Dtypes
        k_cache and v_cache of the format that cache_dtype names
        Without a cache_dtype they are as the arguments.
    Units
        lengths in slots, as they were before: those that hold a key.
    Domain
        0 <= lengths, lengths + n <= M. With a cache_dtype the caches hold numbers of that format. Scales are positive, from
        2^-126 to 2^126, and 1 where they are not given.
    Edges
        n = 0 writes nothing. Every other slot keeps its bits, whatever it holds. What lies beyond the largest number of the
        cache_dtype, times the scale, gives the largest number.

    Raises
        ValueError where lengths + n exceeds M for some row, cache_dtype is no format of a cache, or a scale is given without it.
    Choices
        lengths are those before the keys are written; attention_with_kv_cache takes those after. Here new caches are
        returned; a backend may write to the given ones instead, and states or shows that as its convention. A scale is one
        number, one for each head, or one for each slot of each head. Some code clamps int8 to -127: the convention int8_range.
    Source
        ONNX TensorScatter-24. vLLM, reshape_and_cache.

    One row holds one key already, the other none:

    >>> cache, one = np.zeros((2, 1, 3, 1)), np.ones((2, 1, 1, 1))
    >>> kv_cache_append(cache, cache, 7 * one, 9 * one, np.array([1, 0]))[0][:, 0, :, 0]
    array([[0., 7., 0.],
           [7., 0., 0.]])

    17 / 2 is rounded to a number of the format:

    >>> kv_cache_append(cache, cache, 17 * one, one, np.array([1, 0]), 2.0, cache_dtype="int8")[0][0, 0, :, 0]
    array([0., 8., 0.])
    """
    check_cache("kv_cache_append", cache_dtype, k_scale, v_scale)
    n, slots = k.shape[-2], k_cache.shape[-2]
    for row, length in enumerate(np.asarray(lengths)):
        if length + n > slots:
            raise ValueError(f"kv_cache_append: row {row} has {length} keys, and {n} more exceed its {slots} slots.")
    k, v = (quantized(x, scale, lengths, cache_dtype) for x, scale in ((k, k_scale), (v, v_scale)))
    return written(k_cache, k, lengths), written(v_cache, v, lengths)
