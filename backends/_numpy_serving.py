"""The attentions of servers in numpy_cpu: with a second result, with sinks, caps and windows."""

import math

import numpy as np

from ._numpy_formats import dequantize, quantize
from ._numpy_functions import overflow_is_inf, wide


def seen_keys(n, m, mask, is_causal, left_window, right_window):
    """Which of m keys each of n queries sees; None for all. The last query stands at the last key."""
    away = np.arange(m) - (np.arange(n)[:, None] + m - n)
    limits = []
    if is_causal:
        limits.append(away <= 0)
    if left_window is not None:
        limits.append(away >= -left_window)
    if right_window is not None:
        limits.append(away <= right_window)
    for limit in limits:
        mask = limit if mask is None else mask & limit
    return mask


def attend(q, k, v, seen, sinks, scale, softcap):
    """Attention to shared heads, and its lse. Scores and weights are stored in the dtype of q, the rest is float32 or wider."""
    group = q.shape[-3] // k.shape[-3]
    k, v = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = (wide(q) @ wide(k).swapaxes(-1, -2) * scale).astype(q.dtype)
    scores = wide(scores if softcap is None else softcap * np.tanh(scores / softcap))
    if seen is not None:
        scores = np.where(seen, scores, -np.inf)
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sinks = wide(sinks)[:, None, None]
        top = np.maximum(top, sinks)
    top = np.where(np.isinf(top), 0, top).astype(scores.dtype)
    e = np.exp(scores - top)
    total = np.sum(e, axis=-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top))
    weights = (e / np.where(total == 0, 1, total)).astype(q.dtype)  # a query without any key: zero
    with np.errstate(divide="ignore"):  # log 0 = -inf
        lse = top + np.log(total)
    return (wide(weights) @ wide(v)).astype(q.dtype), lse[..., 0]


@overflow_is_inf
def grouped_query_attention(
    q, k, v, mask=None, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    seen = seen_keys(q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window)
    return attend(q, k, v, seen, sinks, scale, softcap)[0]


@overflow_is_inf
def attention_with_lse(
    q, k, v, mask=None, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    seen = seen_keys(q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window)
    return attend(q, k, v, seen, sinks, scale, softcap)


@overflow_is_inf
def merge_attention_states(out_a, lse_a, out_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    top = np.where(np.isinf(top), 0, top).astype(lse_a.dtype)
    e_a, e_b = np.exp(lse_a - top), np.exp(lse_b - top)
    total = e_a + e_b
    share = 1 / np.where(total == 0, 1, total)
    a, b = (np.where(np.isneginf(lse)[..., None], 0, wide(out)) for out, lse in ((out_a, lse_a), (out_b, lse_b)))
    out = (e_a * share)[..., None] * a + (e_b * share)[..., None] * b
    with np.errstate(divide="ignore"):
        return out.astype(out_a.dtype), (top + np.log(total)).astype(lse_a.dtype)


def _slots_seen(lengths, n, slots, is_causal, left_window, right_window):
    """Which slots each query of each row sees: its own position is lengths - n + i."""
    lengths = lengths[:, None, None, None]
    away = np.arange(slots) - (lengths - n + np.arange(n)[:, None])
    seen = np.broadcast_to(np.arange(slots) < lengths, away.shape)
    seen = seen & (away <= 0) if is_causal else seen
    seen = seen if left_window is None else seen & (away >= -left_window)
    return seen if right_window is None else seen & (away <= right_window)


def _in_format(x, scale, lengths, cache_dtype):
    """New keys or values as the cache holds them. A scale is one for all, for each head, or for each slot of each head."""
    if cache_dtype is None:
        return x
    scale = np.ones((), np.float32) if scale is None else scale
    if scale.ndim < 3:
        return quantize(x, scale[..., None, None], dtype=cache_dtype, block=(None, None))
    places = lengths[:, None] + np.arange(x.shape[2])
    of_new = np.take_along_axis(scale, places[:, None, :], axis=2)
    return quantize(x, of_new[..., None], dtype=cache_dtype, block=(1, None))


def _numbers_of(cache, scale, cache_dtype):
    """What a cache holds, whose last axes but two are those of the heads. Without a format they are the numbers themselves."""
    if cache_dtype is None:
        return cache
    scale = np.ones((), np.float32) if scale is None else scale
    if scale.ndim == 3:
        return dequantize(cache, scale[..., None], q_dtype=cache_dtype, block=(1, None))
    return dequantize(cache, scale[..., None, None], q_dtype=cache_dtype, block=(None, None))


def kv_cache_append(k_cache, v_cache, k, v, lengths, k_scale=None, v_scale=None, *, cache_dtype=None):
    k_cache, v_cache, n = k_cache.copy(), v_cache.copy(), k.shape[2]
    k, v = (_in_format(x, s, lengths, cache_dtype) for x, s in ((k, k_scale), (v, v_scale)))
    for row, start in enumerate(lengths):
        k_cache[row, :, start : start + n], v_cache[row, :, start : start + n] = k[row], v[row]
    return k_cache, v_cache


@overflow_is_inf
def attention_with_kv_cache(
    q, k_cache, v_cache, lengths, sinks=None, k_scale=None, v_scale=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None, cache_dtype=None,
):  # fmt: skip
    slots = k_cache.shape[2]
    k_cache, v_cache = (_numbers_of(x, s, cache_dtype) for x, s in ((k_cache, k_scale), (v_cache, v_scale)))
    holds = (np.arange(slots) < lengths[:, None])[:, None, :, None]  # what lies beyond is no key
    k_cache, v_cache = np.where(holds, k_cache, 0), np.where(holds, v_cache, 0)
    seen = _slots_seen(lengths, q.shape[2], slots, is_causal, left_window, right_window)
    return attend(q, k_cache, v_cache, seen, sinks, scale, softcap)[0]


def _in_rows(pages, table):
    """The slots that a table lists, head by head."""
    rows, listed = table.shape
    return pages[table].reshape(rows, listed * pages.shape[1], *pages.shape[2:]).swapaxes(1, 2)


def listed(block_table, lengths, page_size):
    """The table, with page 0 where lengths need none."""
    return np.where(np.arange(block_table.shape[1]) * page_size < lengths[:, None], block_table, 0)


def paged_attention(
    q, k_pages, v_pages, block_table, lengths, sinks=None, k_scale=None, v_scale=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None, cache_dtype=None,
):  # fmt: skip
    table = listed(block_table, lengths, k_pages.shape[1])
    k, v = _in_rows(k_pages, table), _in_rows(v_pages, table)
    k_scale, v_scale = (s if s is None or s.ndim < 3 else _in_rows(s, table) for s in (k_scale, v_scale))
    options = {"left_window": left_window, "right_window": right_window, "cache_dtype": cache_dtype}
    return attention_with_kv_cache(
        q, k, v, lengths, sinks, k_scale, v_scale, is_causal=is_causal, scale=scale, softcap=softcap, **options
    )


@overflow_is_inf
def variable_length_attention(
    q, k, v, cu_seqlens_q, cu_seqlens_k, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    out = np.zeros((*q.shape[:2], v.shape[2]), q.dtype)
    for a, b, c, d in zip(cu_seqlens_q, cu_seqlens_q[1:], cu_seqlens_k, cu_seqlens_k[1:], strict=False):
        member = (x.swapaxes(0, 1) for x in (q[a:b], k[c:d], v[c:d]))
        seen = seen_keys(b - a, d - c, None, is_causal, left_window, right_window)
        out[a:b] = attend(*member, seen, sinks, scale, softcap)[0].swapaxes(0, 1)
    return out
