"""Attention states as decoding kernels compute them: keys in parts of odd sizes, powers of two inside, pages read one by one."""

import math

import numpy as np

PART = 7  # keys at a time
BITS = math.log2(math.e)


def _attend(q, k, v, seen, sinks, scale, softcap):
    """One pass over the keys in parts, with a running maximum; everything in float32, and the logarithm to the base 2."""
    group = q.shape[-3] // k.shape[-3]
    q, k, v = (x.astype(np.float32) for x in (q, np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)))
    scale = np.float32(q.shape[-1] ** -0.5 if scale is None else scale)
    shape = np.broadcast_shapes(q.shape[:-1], seen.shape[:-1])
    top, total = np.full((*shape, 1), -np.inf, np.float32), np.zeros((*shape, 1), np.float32)
    out = np.zeros((*shape, v.shape[-1]), np.float32)
    for start in range(0, k.shape[-2], PART):
        s = q @ np.swapaxes(k[..., start : start + PART, :], -1, -2) * scale
        if softcap is not None:
            s = np.float32(softcap) * np.tanh(s / np.float32(softcap))
        s = np.where(seen[..., start : start + PART], s * np.float32(BITS), np.float32(-np.inf))
        higher = np.maximum(top, np.max(s, axis=-1, keepdims=True))
        shift = np.where(np.isinf(higher), 0, higher)
        e, kept = np.exp2(s - shift), np.exp2(top - shift)
        top, total = higher, total * kept + np.sum(e, axis=-1, keepdims=True)
        out = out * kept + e @ v[..., start : start + PART, :]
    if sinks is not None:  # once, in the denominator, after all parts
        sink = sinks.astype(np.float32)[:, None, None] * np.float32(BITS)
        higher = np.maximum(top, sink)
        shift = np.where(np.isinf(higher), 0, higher)
        kept = np.exp2(top - shift)
        top, total, out = higher, total * kept + np.exp2(sink - shift), out * kept
    with np.errstate(divide="ignore"):
        lse = (np.where(np.isinf(top), 0, top) + np.log2(total)) / np.float32(BITS)
    return out / np.where(total == 0, 1, total), lse[..., 0]


def _near(n, m, position, is_causal, left_window, right_window):
    away = np.arange(m) - position
    near = away <= 0 if is_causal else np.ones(np.broadcast_shapes(away.shape, (n, m)), bool)
    near = near if left_window is None else near & (away >= -left_window)
    return near if right_window is None else near & (away <= right_window)


def attention_with_lse(
    q, k, v, mask=None, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    n, m = q.shape[-2], k.shape[-2]
    seen = _near(n, m, np.arange(n)[:, None] + m - n, is_causal, left_window, right_window)
    out, lse = _attend(q, k, v, seen if mask is None else seen & mask, sinks, scale, softcap)
    return out.astype(q.dtype), lse


def merge_attention_states(out_a, lse_a, out_b, lse_b):
    """As ring attention does: a + σ(b − a) of the difference."""
    a, b = (np.where(np.isneginf(s)[..., None], 0, x.astype(s.dtype)) for x, s in ((out_a, lse_a), (out_b, lse_b)))
    with np.errstate(all="ignore"):
        gap = np.where(np.isneginf(lse_b), -np.inf, np.where(np.isneginf(lse_a), np.inf, lse_b - lse_a)).astype(lse_a.dtype)
        share = (1 / (1 + np.exp(-gap)))[..., None]
        out = np.where(share == 1, b, np.where(share == 0, a, a - share * (a - b)))
        lse = np.maximum(lse_a, lse_b) + np.log1p(np.exp(-np.abs(gap)))
    neither = np.isneginf(lse_a) & np.isneginf(lse_b)
    out = np.where(neither[..., None], 0, out)
    return out.astype(out_a.dtype), np.where(neither, -np.inf, lse).astype(lse_a.dtype)


def attention_with_kv_cache(
    q, k_cache, v_cache, lengths, sinks=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    """Row by row, with no more slots than the row has."""
    rows = []
    for row, length in enumerate(lengths):
        n = q.shape[2]
        seen = _near(n, length, np.arange(n)[:, None] + length - n, is_causal, left_window, right_window)
        keys, values = k_cache[row, :, :length], v_cache[row, :, :length]
        rows.append(_attend(q[row], keys, values, seen, sinks, scale, softcap)[0])
    return np.stack(rows).astype(q.dtype) if rows else np.zeros((*q.shape[:3], v_cache.shape[3]), q.dtype)


def paged_attention(
    q, k_pages, v_pages, block_table, lengths, sinks=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    size, slots = k_pages.shape[1], np.arange(block_table.shape[1] * k_pages.shape[1])
    out = np.zeros((*q.shape[:3], v_pages.shape[3]), q.dtype)
    for row, length in enumerate(lengths):
        held = slots[:length]
        k, v = (np.swapaxes(x[block_table[row, held // size], held % size], 0, 1)[None] for x in (k_pages, v_pages))
        options = {"is_causal": is_causal, "left_window": left_window, "right_window": right_window}
        one = np.array([length])
        out[row] = attention_with_kv_cache(q[row : row + 1], k, v, one, sinks, scale=scale, softcap=softcap, **options)[0]
    return out


def variable_length_attention(
    q, k, v, cu_seqlens_q, cu_seqlens_k, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    """Every query and every key in one matrix, with a mask by member."""
    member_q, member_k = (np.repeat(np.arange(len(e) - 1), np.diff(e)) for e in (cu_seqlens_q, cu_seqlens_k))
    shift = cu_seqlens_k[1:] - cu_seqlens_q[1:]  # the last query of a member is level with its last key
    position = np.arange(len(q)) + shift[member_q]
    near = _near(len(q), len(k), position[:, None], is_causal, left_window, right_window)
    seen = near & (member_q[:, None] == member_k)
    arrays = (np.swapaxes(x, 0, 1) for x in (q, k, v))
    return np.swapaxes(_attend(*arrays, seen, sinks, scale, softcap)[0], 0, 1).astype(q.dtype)


class StatesInBits:
    """Keys in parts of seven, powers of two, a sink after the last part, ring attention's merge, one matrix for all members."""

    framework, dtypes = "numpy", ("float32", "float16")
    attention_with_lse, merge_attention_states = staticmethod(attention_with_lse), staticmethod(merge_attention_states)
    attention_with_kv_cache, paged_attention = staticmethod(attention_with_kv_cache), staticmethod(paged_attention)
    variable_length_attention = staticmethod(variable_length_attention)


class CacheInPlace:
    """A cache that is written to, slot by slot, and returned."""

    framework = "numpy"

    @staticmethod
    def kv_cache_append(k_cache, v_cache, k, v, lengths):
        for row, length in enumerate(lengths):
            for i in range(k.shape[2]):
                k_cache[row, :, length + i], v_cache[row, :, length + i] = k[row, :, i], v[row, :, i]
        return k_cache, v_cache
