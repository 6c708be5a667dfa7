"""What goes wrong with the gradients of attention: the softmax's inner sum, masks, the scale, broadcasting."""

from typing import Any

import numpy as np

from reference_numpy._sums import summed_to
from reference_numpy.causal_mask import causal_mask
from reference_numpy.logsumexp import logsumexp
from reference_numpy.scaled_dot_product_attention import _weights
from reference_numpy.scaled_dot_product_attention_vjp import scaled_dot_product_attention_vjp

from . import HALF, deviation


def choose_scale(q: Any, scale: Any) -> Any:
    return 1 / np.sqrt(q.shape[-1]) if scale is None else scale


def transpose(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def recompute_weights(q: Any, k: Any, mask: Any, bias: Any, *, is_causal: bool = False, scale: float | None = None) -> Any:
    return _weights(q, k, mask, bias, is_causal, choose_scale(q, scale))


def gradients_from_scores(ds: Any, dv: Any, q: Any, k: Any, v: Any, bias: Any, scale: Any, dk_scale: Any = None) -> Any:
    """Return the gradients of all arguments, given those of the scores and of the values."""
    dk = np.matmul(transpose(ds), q) * (scale if dk_scale is None else dk_scale)
    dbias = None if bias is None else summed_to(ds, bias.shape)
    return summed_to(np.matmul(ds, k) * scale, q.shape), summed_to(dk, k.shape), summed_to(dv, v.shape), None, dbias


def score_and_value_gradients(cotangent: Any, p: Any, v: Any) -> tuple[Any, Any]:
    """Return the gradients of the scores under these weights, and of the values."""
    dp = np.matmul(cotangent, transpose(v))
    return p * (dp - np.sum(p * dp, axis=-1, keepdims=True)), np.matmul(transpose(p), cotangent)


@deviation("reference", "equal_values", "one_key", "keys_common_shift")
def inner_sum_dropped(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, scale: float | None = None, **options: Any
) -> Any:
    """the inner sum of the softmax's gradient is dropped: ds = p (c vᵀ).

    Shows: cotangents along the result, few keys. Hides: random cotangents and many keys, where it is 1/√m.
    """
    p = recompute_weights(q, k, mask, bias, scale=scale, **options)
    ds = p * np.matmul(cotangent, transpose(v))
    return gradients_from_scores(ds, np.matmul(transpose(p), cotangent), q, k, v, bias, choose_scale(q, scale))


@deviation("reference")
def scale_missing_in_dk(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, scale: float | None = None, **options: Any
) -> Any:
    """the scale is left out of dk.

    Shows: any scale but 1. Hides: scale = 1, one feature.
    """
    ds, dv = score_and_value_gradients(cotangent, recompute_weights(q, k, mask, bias, scale=scale, **options), v)
    return gradients_from_scores(ds, dv, q, k, v, bias, choose_scale(q, scale), dk_scale=1.0)


@deviation("reference")
def scale_applied_twice(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, scale: float | None = None, **options: Any
) -> Any:
    """the scale is multiplied into ds and once more into dq and dk.

    Shows: any scale but 1. Hides: scale = 1, one feature.
    """
    s = choose_scale(q, scale)
    ds, dv = score_and_value_gradients(cotangent, recompute_weights(q, k, mask, bias, scale=scale, **options), v)
    dq, dk, dv, _, _ = gradients_from_scores(ds * s, dv, q, k, v, None, s)
    return dq, dk, dv, None, None if bias is None else summed_to(ds, bias.shape)


@deviation("reference", seen=("https://github.com/tile-ai/tilelang-ascend/pull/1670",))
def scale_of_the_padded_width(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, scale: float | None = None, **options: Any
) -> Any:
    """the default scale is that of a width padded to a multiple of 16, on the way back alone.

    Shows: d_k not a multiple of 16. Hides: d_k = 64 or 128, a given scale.
    """
    ds, dv = score_and_value_gradients(cotangent, recompute_weights(q, k, mask, bias, scale=scale, **options), v)
    padded = 1 / np.sqrt(-(-q.shape[-1] // 16) * 16.0)
    return gradients_from_scores(ds, dv, q, k, v, bias, padded if scale is None else scale)


@deviation("reference", "causal")
def causality_forgotten(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any) -> Any:
    """the weights are recomputed without causality.

    Shows: is_causal with two tokens or more. Hides: is_causal = False.
    """
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, **{**options, "is_causal": False})


@deviation("reference", "hidden_keys")
def mask_forgotten(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any) -> Any:
    """the weights are recomputed without the mask.

    Shows: a mask. Hides: none.
    """
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, None, bias, **options)


@deviation("reference")
def bias_forgotten(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any) -> Any:
    """the weights are recomputed without the bias.

    Shows: a bias that differs from key to key. Hides: none, a constant one.
    """
    shape = () if bias is None else bias.shape
    none = None if bias is None else np.zeros(shape)
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, none, **options)


@deviation("reference", "bias_of_a_row_sums_to_zero")
def bias_gets_the_weights_gradient(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any
) -> Any:
    """the bias's gradient is that of the weights, before the softmax is differentiated.

    Shows: any bias. Hides: none.
    """
    dq, dk, dv, *_ = scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, **options)
    return dq, dk, dv, None, None if bias is None else summed_to(np.matmul(cotangent, transpose(v)), bias.shape)


@deviation("broadcasting")
def broadcast_gradients_averaged(
    cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, scale: float | None = None, **options: Any
) -> Any:
    """the gradient of keys and values that several entries of the batch share is the mean over these entries.

    Shows: batch axes that broadcast. Hides: equal ones.
    """
    dq, dk, dv, dmask, dbias = scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, scale=scale, **options)
    entries = np.prod(cotangent.shape[:-2])
    dk, dv = (dx * float(np.prod(x.shape[:-2]) / entries) if entries else dx for dx, x in ((dk, k), (dv, v)))
    return dq, dk, dv, dmask, dbias


@deviation("reference")
def weights_detached(cotangent: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, **options: Any) -> Any:
    """only the values are differentiated: q, k and bias get zeros, as where the weights were detached.

    Shows: two keys or more. Hides: a single one.
    """
    *_, dv, _, _ = scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, **options)
    return 0.0 * q, 0.0 * k, dv, None, None if bias is None else 0.0 * bias


@deviation("reference", "one_key", kind="arithmetic", dtypes=HALF)
def weights_from_a_rounded_logarithm(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    held: Any,
) -> Any:
    """the weights are recomputed from the scores and a log-sum-exp stored in 16 bits.

    Shows: large scores. Hides: small ones, float32.
    """
    s = choose_scale(q, scale)
    raw = np.matmul(q, transpose(k)) * s + (0.0 if bias is None else bias)
    if is_causal:
        mask = causal_mask(n=q.shape[-2]) if mask is None else np.logical_and(mask, causal_mask(n=q.shape[-2]))
    raw = raw if mask is None else np.where(mask, raw, -np.inf)
    p = np.exp(raw - np.expand_dims(held(logsumexp(raw, axis=-1)), -1))
    ds, dv = score_and_value_gradients(cotangent, p, v)
    return gradients_from_scores(ds, dv, q, k, v, bias, s)
