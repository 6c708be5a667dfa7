"""The attentions of servers in torch_cpu: with a second result, with sinks, caps and windows. All of it is float32 or wider."""

import math

import torch

from ._torch_formats import quantize
from ._torch_functions import _widened


def seen_keys(n, m, mask, is_causal, left_window, right_window, device):
    """Which of m keys each of n queries sees; None for all. The last query stands at the last key."""
    away = torch.arange(m, device=device) - (torch.arange(n, device=device)[:, None] + m - n)
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
    """Attention of query heads to shared heads, and its lse, both in float32 or wider."""
    q, k, v, sinks = _widened((q, k, v, sinks))
    k, v = (y.repeat_interleave(q.shape[-3] // y.shape[-3], dim=-3) for y in (k, v))
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if seen is not None:
        scores = torch.where(seen, scores, -math.inf)
    if sinks is not None:  # the score of one more key, with a value of zero
        scores = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:-1], 1)], dim=-1)
    if not scores.shape[-1]:  # a member without keys
        return scores.new_zeros(*scores.shape[:-1], v.shape[-1]), scores.new_full(scores.shape[:-1], -math.inf)
    top = scores.detach().amax(-1, keepdim=True)
    top = torch.where(top.isinf(), 0.0, top)
    e = torch.exp(scores - top)
    total = e.sum(-1, keepdim=True)
    blind = total == 0  # a query without any key: zero
    total = total.masked_fill(blind, 1.0)
    lse = (top + total.log()).masked_fill(blind, -math.inf)
    return (e / total)[..., : k.shape[-2]] @ v, lse[..., 0]


def grouped_query_attention(
    q, k, v, mask=None, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    seen = seen_keys(q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window, q.device)
    return attend(q, k, v, seen, sinks, scale, softcap)[0].to(q.dtype)


def attention_with_lse(
    q, k, v, mask=None, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    seen = seen_keys(q.shape[-2], k.shape[-2], mask, is_causal, left_window, right_window, q.device)
    out, lse = attend(q, k, v, seen, sinks, scale, softcap)
    return out.to(q.dtype), lse


def merge_attention_states(out_a, lse_a, out_b, lse_b):
    top = torch.maximum(lse_a, lse_b).detach()
    top = torch.where(top.isinf(), 0.0, top)
    e_a, e_b = torch.exp(lse_a - top), torch.exp(lse_b - top)
    total = e_a + e_b
    blind = total == 0
    total = total.masked_fill(blind, 1.0)
    a, b = (out.masked_fill((lse == -math.inf)[..., None], 0.0) for out, lse in ((out_a, lse_a), (out_b, lse_b)))
    out = (e_a / total)[..., None] * a + (e_b / total)[..., None] * b
    return out.to(out_a.dtype), (top + total.log()).masked_fill(blind, -math.inf)


def attention_with_weights(q, k, v, mask=None, *, is_causal=False, scale=None):
    dtype, (q, k, v) = q.dtype, _widened((q, k, v))
    seen = seen_keys(q.shape[-2], k.shape[-2], mask, is_causal, None, None, q.device)
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if seen is not None:
        scores = torch.where(seen, scores, -math.inf)
    blind = (scores == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(blind, 0), dim=-1).masked_fill(blind, 0)
    return (weights @ v).to(dtype), weights.to(dtype)


def _slots_seen(lengths, n, slots, is_causal, left_window, right_window):
    """Which slots each query of each row sees: its own position is lengths - n + i."""
    lengths, slot = lengths[:, None, None, None], torch.arange(slots, device=lengths.device)
    away = slot - (lengths - n + torch.arange(n, device=lengths.device)[:, None])
    seen = (slot < lengths).expand(away.shape)
    seen = seen & (away <= 0) if is_causal else seen
    seen = seen if left_window is None else seen & (away >= -left_window)
    return seen if right_window is None else seen & (away <= right_window)


def _in_format(x, scale, lengths, cache_dtype):
    """New keys or values as the cache holds them. A scale is one for all, for each head, or for each slot of each head."""
    if cache_dtype is None:
        return x
    scale = torch.ones((), device=x.device) if scale is None else scale
    if scale.ndim < 3:
        return quantize(x, scale[..., None, None], dtype=cache_dtype, block=(None, None))
    places = lengths[:, None] + torch.arange(x.shape[2], device=x.device)
    of_new = scale.gather(2, places[:, None, :].expand(-1, scale.shape[1], -1))
    return quantize(x, of_new[..., None], dtype=cache_dtype, block=(1, None))


def _of_numbers(scale):
    """A scale with the axes of a cache."""
    return scale[..., None] if scale.ndim == 3 else scale[..., None, None]


def kv_cache_append(k_cache, v_cache, k, v, lengths, k_scale=None, v_scale=None, *, cache_dtype=None):
    k_cache, v_cache, n = k_cache.clone(), v_cache.clone(), k.shape[2]
    k, v = (_in_format(x, s, lengths, cache_dtype) for x, s in ((k, k_scale), (v, v_scale)))
    for row, start in enumerate(lengths.tolist()):
        k_cache[row, :, start : start + n], v_cache[row, :, start : start + n] = k[row], v[row]
    return k_cache, v_cache


def attention_with_kv_cache(
    q, k_cache, v_cache, lengths, sinks=None, k_scale=None, v_scale=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None, cache_dtype=None,
):  # fmt: skip
    slots = k_cache.shape[2]
    beyond = (torch.arange(slots, device=q.device) >= lengths[:, None])[:, None, :, None]  # what lies there is no key
    seen = _slots_seen(lengths, q.shape[2], slots, is_causal, left_window, right_window)
    if cache_dtype is not None:
        k_cache, v_cache = k_cache.float(), v_cache.float()
    if k_scale is not None:
        k_cache = k_cache * _of_numbers(k_scale)
    if v_scale is not None:
        v_cache = v_cache * _of_numbers(v_scale)
    arrays = (x.masked_fill(beyond, 0) for x in (k_cache, v_cache))
    return attend(q, *arrays, seen, sinks, scale, softcap)[0].to(q.dtype)


def listed(block_table, lengths, page_size):
    """The table, with page 0 where lengths need none."""
    needed = torch.arange(block_table.shape[1], device=lengths.device) * page_size < lengths[:, None]
    return block_table.masked_fill(~needed, 0)


def paged_attention(
    q, k_pages, v_pages, block_table, lengths, sinks=None, k_scale=None, v_scale=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None, cache_dtype=None,
):  # fmt: skip
    table = listed(block_table, lengths, k_pages.shape[1])
    k, v = (x[table].flatten(1, 2).transpose(1, 2) for x in (k_pages, v_pages))
    k_scale, v_scale = (s if s is None or s.ndim < 3 else s[table].flatten(1, 2).mT for s in (k_scale, v_scale))
    options = {"left_window": left_window, "right_window": right_window, "cache_dtype": cache_dtype}
    return attention_with_kv_cache(
        q, k, v, lengths, sinks, k_scale, v_scale, is_causal=is_causal, scale=scale, softcap=softcap, **options
    )


def variable_length_attention(
    q, k, v, cu_seqlens_q, cu_seqlens_k, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    members = []
    for a, b, c, d in zip(*(ends[i:].tolist() for ends in (cu_seqlens_q, cu_seqlens_k) for i in (0, 1)), strict=False):
        seen = seen_keys(b - a, d - c, None, is_causal, left_window, right_window, q.device)
        member = (x.transpose(0, 1) for x in (q[a:b], k[c:d], v[c:d]))
        members.append(attend(*member, seen, sinks, scale, softcap)[0].transpose(0, 1))
    out = torch.cat(members).to(q.dtype)
    return torch.nn.functional.pad(out, (0, 0, 0, 0, 0, len(q) - len(out)))  # tokens beyond the last member
