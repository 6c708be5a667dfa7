"""The latent and sparse attentions of numpy_cpu. Scores and weights have the dtype of q, the rest is float32 or wider."""

import math

import numpy as np

from ._numpy_functions import overflow_is_inf, wide
from ._numpy_serving import attend, listed


def _softmax_and_lse(scores, sinks=None):
    """The weights of scores, and the logarithm of their denominator. A query without any key: zero and -inf."""
    top = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        sinks = wide(sinks)[:, None, None]
        top = np.maximum(top, sinks)
    top = np.where(np.isinf(top), 0, top).astype(scores.dtype)
    e = np.exp(scores - top)
    total = np.sum(e, axis=-1, keepdims=True) + (0 if sinks is None else np.exp(sinks - top))
    with np.errstate(divide="ignore"):  # log 0 = -inf
        return e / np.where(total == 0, 1, total), (top + np.log(total))[..., 0]


def _seen_rows(n, m, lengths, is_causal):
    """Which of m rows each query sees, for all heads: its own position is lengths - n + i."""
    lengths = np.asarray(m if lengths is None else lengths)[..., None, None, None]
    position = lengths - n + np.arange(n)[:, None] if is_causal else lengths - 1 + np.zeros((n, 1), int)
    return (np.arange(m) < lengths) & (np.arange(m) <= position)


def _held(x, lengths):
    """The rows that lengths count; what lies beyond is no row."""
    return x if lengths is None else np.where((np.arange(x.shape[-2]) < lengths[..., None])[..., None], x, 0)


@overflow_is_inf
def latent_attention(q_nope, q_rope, latent, k_rope, w_uk, w_uv, lengths=None, *, is_causal=True, scale=None):
    """The explicit form: keys and values of every head are made."""
    latent, k_rope = _held(latent, lengths), _held(k_rope, lengths)
    shared = wide(latent)[..., None, :, :]
    k_nope, v = ((shared @ wide(w).swapaxes(-1, -2)).astype(latent.dtype) for w in (w_uk, w_uv))
    k_rope = np.broadcast_to(k_rope[..., None, :, :], (*k_nope.shape[:-1], k_rope.shape[-1]))
    q, k = np.concatenate([q_nope, q_rope], axis=-1), np.concatenate([k_nope, k_rope], axis=-1)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    return attend(q, k, v, _seen_rows(q.shape[-2], k.shape[-2], lengths, is_causal), None, scale, None)


@overflow_is_inf
def latent_attention_absorbed(q, cache, lengths=None, block_table=None, *, rank, scale, is_causal=True):
    if block_table is not None:
        pages = cache[listed(block_table, lengths, cache.shape[1])]
        cache = pages.reshape(len(pages), -1, cache.shape[-1])
    rows = _held(cache, lengths)[..., None, :, :]
    seen = _seen_rows(q.shape[-2], cache.shape[-2], lengths, is_causal)
    return attend(q, rows, rows[..., :rank], seen, None, scale, None)


@overflow_is_inf
def sparse_attention(q, k, v, indices, sinks=None, *, scale=None, block_size=1):
    """The listed keys and values are gathered for each query."""
    n, m, group = q.shape[-2], k.shape[-2], q.shape[-3] // k.shape[-3]
    blocks = np.repeat(indices, block_size, axis=-1)
    places = blocks * block_size + np.tile(np.arange(block_size), indices.shape[-1])
    is_key = (blocks >= 0) & (places <= np.arange(n)[:, None] + m - n)
    places = np.where(is_key, places, 0)
    places, is_key = (np.repeat(x, group, -3) if x.ndim == q.ndim else x[..., None, :, :] for x in (places, is_key))
    taken = (np.take_along_axis(np.repeat(x, group, axis=-3)[..., None, :, :], places[..., None], axis=-2) for x in (k, v))
    keys, values = (np.where(is_key[..., None], x, 0) for x in taken)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = (wide(keys) @ wide(q)[..., None])[..., 0] * scale
    scores = np.where(is_key, wide(scores.astype(q.dtype)), -np.inf)
    weights, lse = _softmax_and_lse(scores, sinks)
    return (wide(weights.astype(q.dtype))[..., None, :] @ wide(values))[..., 0, :].astype(q.dtype), lse


@overflow_is_inf
def indexer_scores(q, k, weights, *, is_causal=True, activation="relu"):
    products = wide(q) @ wide(k)[..., None, :, :].swapaxes(-1, -2)
    products = np.maximum(products, 0) if activation == "relu" else products
    scores = np.sum(wide(weights)[..., None] * products, axis=-2)
    n, m = scores.shape[-2:]
    return np.where(np.arange(m) <= np.arange(n)[:, None] + m - n, scores, -np.inf) if is_causal else scores


def select_keys(scores, *, k):
    chosen = np.argsort(-scores, axis=-1, kind="stable")[..., :k]
    chosen = np.where(np.isneginf(np.take_along_axis(scores, chosen, axis=-1)), -1, chosen)
    return np.concatenate([chosen, np.full((*chosen.shape[:-1], k - chosen.shape[-1]), -1)], axis=-1)
