"""What goes wrong with the gradients of attention: the softmax's inner sum, masks, the scale, broadcasting."""

from typing import Any

import numpy as np

from reference_numpy._sums import summed_to
from reference_numpy.causal_mask import causal_mask
from reference_numpy.logsumexp import logsumexp
from reference_numpy.scaled_dot_product_attention import _weights
from reference_numpy.scaled_dot_product_attention_vjp import scaled_dot_product_attention_vjp

from . import HALF, deviation


def scaled(q: Any, scale: Any) -> Any:
    return 1 / np.sqrt(q.shape[-1]) if scale is None else scale


def transposed(x: Any) -> Any:
    return np.swapaxes(x, -1, -2)


def back(ds: Any, dv: Any, q: Any, k: Any, v: Any, bias: Any, scale: Any, dk_scale: Any = None) -> Any:
    """The gradients that follow from those of the scores."""
    dk = np.matmul(transposed(ds), q) * (scale if dk_scale is None else dk_scale)
    dbias = None if bias is None else summed_to(ds, bias.shape)
    return summed_to(np.matmul(ds, k) * scale, q.shape), summed_to(dk, k.shape), summed_to(dv, v.shape), None, dbias


def scores(cotangent: Any, p: Any, v: Any) -> tuple[Any, Any]:
    """The gradients of the scores under these weights, and of the values."""
    dp = np.matmul(cotangent, transposed(v))
    return p * (dp - np.sum(p * dp, axis=-1, keepdims=True)), np.matmul(transposed(p), cotangent)


@deviation("reference", "equal_values", "one_key", "keys_common_shift")
def inner_sum_dropped(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the inner sum of the softmax's gradient is dropped: ds = p (c vᵀ).

    Shows: cotangents along the result, few keys. Hides: random cotangents and many keys, where it is 1/√m.
    """
    p = _weights(q, k, mask, bias, is_causal, scaled(q, scale))
    ds = p * np.matmul(cotangent, transposed(v))
    return back(ds, np.matmul(transposed(p), cotangent), q, k, v, bias, scaled(q, scale))


@deviation("reference")
def scale_missing_in_dk(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the scale is left out of dk.

    Shows: any scale but 1. Hides: scale = 1, one feature.
    """
    ds, dv = scores(cotangent, _weights(q, k, mask, bias, is_causal, scaled(q, scale)), v)
    return back(ds, dv, q, k, v, bias, scaled(q, scale), dk_scale=1.0)


@deviation("reference")
def scale_applied_twice(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the scale is multiplied into ds and once more into dq and dk.

    Shows: any scale but 1. Hides: scale = 1, one feature.
    """
    s = scaled(q, scale)
    ds, dv = scores(cotangent, _weights(q, k, mask, bias, is_causal, s), v)
    dq, dk, dv, _, _ = back(ds * s, dv, q, k, v, None, s)
    return dq, dk, dv, None, None if bias is None else summed_to(ds, bias.shape)


@deviation("reference", seen=("https://github.com/tile-ai/tilelang-ascend/pull/1670",))
def scale_of_the_padded_width(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the default scale is that of a width padded to a multiple of 16, on the way back alone.

    Shows: d_k not a multiple of 16. Hides: d_k = 64 or 128, a given scale.
    """
    ds, dv = scores(cotangent, _weights(q, k, mask, bias, is_causal, scaled(q, scale)), v)
    padded = 1 / np.sqrt(-(-q.shape[-1] // 16) * 16.0)
    return back(ds, dv, q, k, v, bias, padded if scale is None else scale)


@deviation("reference", "causal")
def causality_forgotten(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the weights are recomputed without causality.

    Shows: is_causal with two tokens or more. Hides: is_causal = False.
    """
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, scale=scale)


@deviation("reference", "hidden_keys")
def mask_forgotten(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the weights are recomputed without the mask.

    Shows: a mask. Hides: none.
    """
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, None, bias, is_causal=is_causal, scale=scale)


@deviation("reference")
def bias_forgotten(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the weights are recomputed without the bias.

    Shows: a bias that differs from key to key. Hides: none, a constant one.
    """
    shape = () if bias is None else bias.shape
    none = None if bias is None else np.zeros(shape)
    return scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, none, is_causal=is_causal, scale=scale)


@deviation("reference", "bias_of_a_row_sums_to_zero")
def bias_gets_the_weights_gradient(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """the bias's gradient is that of the weights, before the softmax is differentiated.

    Shows: any bias. Hides: none.
    """
    dq, dk, dv, *_ = scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, is_causal=is_causal, scale=scale)
    return dq, dk, dv, None, None if bias is None else summed_to(np.matmul(cotangent, transposed(v)), bias.shape)


@deviation("reference")
def weights_detached(
    cotangent: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    bias: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """only the values are differentiated: q, k and bias get zeros, as where the weights were detached.

    Shows: two keys or more. Hides: a single one.
    """
    *_, dv, _, _ = scaled_dot_product_attention_vjp(cotangent, q, k, v, mask, bias, is_causal=is_causal, scale=scale)
    return 0.0 * q, 0.0 * k, dv, None, None if bias is None else 0.0 * bias


@deviation("reference", kind="arithmetic", dtypes=HALF)
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
    s = scaled(q, scale)
    raw = np.matmul(q, transposed(k)) * s + (0.0 if bias is None else bias)
    if is_causal:
        mask = causal_mask(n=q.shape[-2]) if mask is None else np.logical_and(mask, causal_mask(n=q.shape[-2]))
    raw = raw if mask is None else np.where(mask, raw, -np.inf)
    p = np.exp(raw - np.expand_dims(held(logsumexp(raw, axis=-1)), -1))
    ds, dv = scores(cotangent, p, v)
    return back(ds, dv, q, k, v, bias, s)
