"""Attention states as FlashInfer has them: lse to the base 2, and a bias that is capped with the scores."""

import math

import numpy as np

from . import states

BITS = np.float32(math.log2(math.e))


def attention_with_lse(q, k, v, mask=None, sinks=None, **options):
    out, lse = states.attention_with_lse(q, k, v, mask, sinks, **options)
    return out, lse * BITS


def merge_attention_states(out_a, lse_a, out_b, lse_b):
    top = np.maximum(lse_a, lse_b)
    top = np.where(np.isinf(top), 0, top)
    e_a, e_b = np.exp2(lse_a - top), np.exp2(lse_b - top)
    a, b = (np.where(np.isneginf(s)[..., None], 0, x.astype(s.dtype)) for x, s in ((out_a, lse_a), (out_b, lse_b)))
    total = e_a + e_b
    weighted = e_a[..., None] * a + e_b[..., None] * b
    with np.errstate(divide="ignore"):
        lse = np.log2(total) + top
    return (weighted / np.where(total == 0, 1, total)[..., None]).astype(out_a.dtype), lse.astype(lse_a.dtype)


def scaled_dot_product_attention(q, k, v, mask=None, bias=None, *, scale=None, softcap=None):
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if bias is None else scores + bias
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True, initial=np.finfo(q.dtype).min))
    total = np.sum(e, axis=-1, keepdims=True)
    return (e / np.where(total == 0, 1, total) @ v).astype(q.dtype)


class LseInBits:
    """lse to the base 2 and a bias that is capped, neither of which is stated."""

    framework, dtypes = "numpy", ("float32",)
    attention_with_lse, merge_attention_states = staticmethod(attention_with_lse), staticmethod(merge_attention_states)
    scaled_dot_product_attention = staticmethod(scaled_dot_product_attention)


class StatedInBits(LseInBits):
    """The same, stated; 16-bit outs, whose lse is float32."""

    dtypes = ("float32", "float16")
    conventions = {"lse_base": "2"}
    scaled_dot_product_attention = None
