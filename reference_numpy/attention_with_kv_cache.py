from typing import Any

import numpy as np

from ._caches import check_cache, dequantized
from ._heads import seen_slots
from .grouped_query_attention import grouped_query_attention


def attention_with_kv_cache(
    q: Any,
    k_cache: Any,
    v_cache: Any,
    lengths: Any,
    sinks: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    *,
    is_causal: bool = True,
    scale: float | None = None,
    softcap: float | None = None,
    left_window: int | None = None,
    right_window: int | None = None,
    cache_dtype: str | None = None,
) -> Any:
    """Attention of new queries to the keys that a cache holds, their own keys included.

        y_bi = attention of query i of row b to the slots 0, ..., lengths[b] - 1,   at position lengths[b] - n + i
        with a cache_dtype:  keys = k_cache * k_scale,   values = v_cache * v_scale

    Shapes
        q (b, h, n, d_k),  k_cache (b, h_kv, M, d_k),  v_cache (b, h_kv, M, d_v),  lengths (b),  sinks (h),
        k_scale () or (h_kv) or (b, h_kv, M),  v_scale () or (h_kv) or (b, h_kv, M)  ->  (b, h, n, d_v)
    Dtypes
        as the arguments
    Units
        lengths in slots, after the n new keys were written.
    Domain
        As in grouped_query_attention; 0 <= lengths <= M. With a cache_dtype the caches hold numbers of that format. Scales are
        positive, from 2^-126 to 2^126, and 1 where they are not given.
    Edges
        Whatever lies in a slot from lengths[b] on does not show. A query that sees no slot, as in a row of length 0 or
        before the first position under causality, has no softmax: NaN here, and 0 with a finite sink.

    Raises
        ValueError where h_kv does not divide h, cache_dtype is no format of a cache, or a scale is given without it.
    Choices
        lengths count the new keys, as FlashAttention's seqlen_k does. Causality and windows are about positions, so that
        the last query sees the last key: bottom-right in every row. A scale is one number, one for each
        head of keys, or one for each slot of each head. q is not rounded to the format of the cache, and neither are the weights.
    Source
        FlashAttention's flash_attn_with_kvcache. ONNX Attention-24, nonpad_kv_seqlen.

    The second slot holds no key yet:

    >>> q, keys = np.ones((1, 1, 1, 1)), np.zeros((1, 1, 2, 1))
    >>> attention_with_kv_cache(q, keys, np.array([[[[5.0], [7.0]]]]), np.array([1]))
    array([[[[5.]]]])
    >>> attention_with_kv_cache(q, keys, np.array([[[[5.0], [7.0]]]]), np.array([1]), v_scale=0.5, cache_dtype="int8")
    array([[[[2.5]]]])
    """
    check_cache("attention_with_kv_cache", cache_dtype, k_scale, v_scale)
    slots = k_cache.shape[-2]
    seen = seen_slots(lengths, q.shape[-2], slots, is_causal, left_window, right_window)
    holds = (np.arange(slots) < np.asarray(lengths)[:, None])[:, None, :, None]
    k, v = dequantized(k_cache, k_scale), np.where(holds, dequantized(v_cache, v_scale), 0.0)
    return grouped_query_attention(q, k, v, seen, sinks, scale=scale, softcap=softcap)
