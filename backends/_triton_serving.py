"""The attentions of servers, each as one call of the flash-decoding kernels in _triton_attention."""

import math

import torch

from ._triton_attention import Rows, attend, merge_parts


def _rows(x, lengths=None):
    """The rows of an array (b, h, n, d), of which each member has all or the first ones."""
    b, h, n, _ = x.shape
    lengths = torch.full((b,), n, device=x.device) if lengths is None else lengths
    return Rows(torch.arange(b, device=x.device) * h * n, lengths, n, h, 1, n)


def _packed(x, ends):
    """The rows of sequences that lie one after the other in an array (n, h, d)."""
    h, counts = x.shape[1], ends.diff()
    return Rows(ends * h, counts, int(counts.max()), h, h, 1)


def attention_with_lse(q, k, v, sinks=None, *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None):
    batch = torch.broadcast_shapes(q.shape[:-3], k.shape[:-3], v.shape[:-3])
    q, k, v = (x.expand(*batch, *x.shape[-3:]).reshape(math.prod(batch), *x.shape[-3:]) for x in (q, k, v))
    out, lse = attend(q, k, v, _rows(q), _rows(k), sinks, is_causal, scale, softcap, left_window, right_window)
    return out.reshape(*batch, *out.shape[1:]), lse.reshape(*batch, *lse.shape[1:])


def grouped_query_attention(
    q, k, v, sinks=None, *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None
):
    options = {"scale": scale, "softcap": softcap, "left_window": left_window, "right_window": right_window}
    return attention_with_lse(q, k, v, sinks, is_causal=is_causal, **options)[0]


def scaled_dot_product_attention(q, k, v, *, is_causal=False, scale=None, softcap=None):
    q, k, v = (x.unsqueeze(-3) for x in (q, k, v))  # one head
    return grouped_query_attention(q, k, v, is_causal=is_causal, scale=scale, softcap=softcap).squeeze(-3)


def merge_attention_states(out_a, lse_a, out_b, lse_b):
    return merge_parts(torch.stack([out_a, out_b]), torch.stack([lse_a, lse_b]), out_a.dtype)


def attention_with_kv_cache(
    q, k_cache, v_cache, lengths, sinks=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    queries, keys = _rows(q), _rows(k_cache, lengths)
    return attend(q, k_cache, v_cache, queries, keys, sinks, is_causal, scale, softcap, left_window, right_window)[0]


def paged_attention(
    q, k_pages, v_pages, block_table, lengths, sinks=None,
    *, is_causal=True, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    _, page_size, heads, _ = k_pages.shape
    keys = Rows(lengths, lengths, block_table.shape[1] * page_size, heads, heads, 1)  # where they begin is in the table
    options = (is_causal, scale, softcap, left_window, right_window)
    return attend(q, k_pages, v_pages, _rows(q), keys, sinks, *options, table=block_table, page_size=page_size)[0]


def variable_length_attention(
    q, k, v, cu_seqlens_q, cu_seqlens_k, sinks=None,
    *, is_causal=False, scale=None, softcap=None, left_window=None, right_window=None,
):  # fmt: skip
    queries, keys = _packed(q, cu_seqlens_q), _packed(k, cu_seqlens_k)
    return attend(q, k, v, queries, keys, sinks, is_causal, scale, softcap, left_window, right_window)[0]
