"""The latent and sparse attentions of numpy_cpu. Scores and weights have the dtype of q, the rest is float32 or wider."""

import math

import numpy as np

from ._numpy_functions import overflow_is_inf, wide


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


@overflow_is_inf
def sparse_attention(q, k, v, indices, sinks=None, *, scale=None, block_size=1):
    """The listed keys and values are gathered for each query."""
    n, m, group = q.shape[-2], k.shape[-2], q.shape[-3] // k.shape[-3]
    blocks = np.repeat(indices, block_size, axis=-1)
    places = blocks * block_size + np.tile(np.arange(block_size), indices.shape[-1])
    is_key = (blocks >= 0) & (places <= np.arange(n)[:, None] + m - n)
    places, is_key = np.where(is_key, places, 0)[..., None, :, :], is_key[..., None, :, :]
    taken = (np.take_along_axis(np.repeat(x, group, axis=-3)[..., None, :, :], places[..., None], axis=-2) for x in (k, v))
    keys, values = (np.where(is_key[..., None], x, 0) for x in taken)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = (wide(keys) @ wide(q)[..., None])[..., 0] * scale
    scores = np.where(is_key, wide(scores.astype(q.dtype)), -np.inf)
    weights, lse = _softmax_and_lse(scores, sinks)
    return (wide(weights.astype(q.dtype))[..., None, :] @ wide(values))[..., 0, :].astype(q.dtype), lse
