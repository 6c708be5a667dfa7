"""Attention of which each rank has some heads, or some queries and keys."""

import math

import torch

from ._distributed_group import RANK, copied, gathered, places_of
from ._torch_functions import in_float32

__all__ = ["grouped_query_attention", "scaled_dot_product_attention"]


def visible(n, m, mask, is_causal):
    """Which of m keys each of n queries sees. The last query stands at the last key."""
    seen = torch.ones(n, m, dtype=torch.bool)
    if is_causal:
        seen = seen.tril(m - n)
    return seen if mask is None else seen & mask


def attend(q, k, v, seen, scale, softcap=None, bias=None):
    """Softmax of the visible scores, times the values, computed in one block. A query without a key gives zeros."""
    scores = q @ k.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    scores = torch.where(seen, scores, -math.inf)
    blind = (scores == -math.inf).all(-1, keepdim=True)
    return torch.softmax(scores.masked_fill(blind, 0), -1).masked_fill(blind, 0) @ v


@in_float32
def grouped_query_attention(q, k, v, mask=None, *, is_causal=False, scale=None, softcap=None):
    """By heads: each rank has some heads of queries, and takes the heads of keys and values that these use, of which there may be
    fewer than ranks.
    """
    heads = places_of(q, -3)
    group = sum(map(len, heads)) // k.shape[-3]
    k, v = (copied(x).index_select(-3, heads[RANK] // group) for x in (k, v))
    seen = visible(q.shape[-2], k.shape[-2], mask, is_causal)
    if seen.dim() > 2 and seen.shape[-3] > 1:
        seen = seen.index_select(-3, heads[RANK])
    return attend(q, k, v, seen, scale, softcap)


@in_float32
def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, is_causal=False, scale=None, softcap=None):
    """Context-parallel with all-gather: each rank has some queries, and gathers all keys and values."""
    rows, keys = places_of(q, -2), places_of(k, -2)
    k, v = gathered(k, -2, keys), gathered(v, -2, keys)
    n, m = sum(map(len, rows)), k.shape[-2]
    seen = visible(n, m, mask, is_causal).index_select(-2, rows[RANK])
    if bias is not None:
        bias = copied(bias.expand(torch.broadcast_shapes(bias.shape, (n, m)))).index_select(-2, rows[RANK])
    return attend(q, k, v, seen, scale, softcap, bias)
