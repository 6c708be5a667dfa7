"""What goes wrong with scaled_dot_product_attention: its scale and its scores.

Attention has five steps. A deviation is a function that replaces one of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from reference_numpy._marks import eager, float64, rounded
from reference_numpy.causal_mask import causal_mask
from reference_numpy.softmax import softmax

from . import deviation


def choose_scale(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    return 1 / np.sqrt(q.shape[-1]) if scale is None else scale


def combine_masks(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    if not is_causal:
        return mask
    if n != m:
        raise ValueError("the equation leaves causality with n ≠ m open")
    return causal_mask(n=n) if mask is None else np.logical_and(mask, causal_mask(n=n))


def compute_scores(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    s = np.matmul(eager(q), np.swapaxes(eager(k), -1, -2)) * scale
    return s if bias is None else s + float64(bias)


def compute_weights(s: Any, mask: Any) -> Any:
    return rounded(softmax(hide_scores(s, mask), axis=-1))


def average_values(p: Any, v: Any) -> Any:
    return np.matmul(p, v)


def hide_scores(s: Any, mask: Any, score: float = -np.inf) -> Any:
    """Return the scores, with `score` instead of those that the mask hides."""
    return s if mask is None else np.where(mask, s, score)


def instead_of(step: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return attention in which the decorated function replaces the step. It may have the keyword `held`."""

    def decorate(other: Callable[..., Any]) -> Callable[..., Any]:
        rounds = "held" in inspect.signature(other).parameters

        @wraps(other)
        def attention(
            q: Any,
            k: Any,
            v: Any,
            mask: Any = None,
            bias: Any = None,
            *,
            is_causal: bool = False,
            scale: float | None = None,
            held: Any = None,
        ) -> Any:
            def do(own: Callable[..., Any], *operands: Any) -> Any:
                deviating = partial(other, held=held) if rounds else other
                return (deviating if own is step else own)(*operands)

            q, k, v = float64(q), float64(k), float64(v)
            mask = do(combine_masks, mask, q.shape[-2], k.shape[-2], is_causal)
            s = do(compute_scores, q, k, do(choose_scale, q, k, v, scale), bias)
            return do(average_values, do(compute_weights, s, mask), v)

        parameters = inspect.signature(attention, follow_wrapped=False).parameters.values()
        signature = inspect.Signature([p for p in parameters if p.name != "held" or rounds])
        attention.__signature__ = signature  # type: ignore[attr-defined]
        attention.replaced = {step: other}  # type: ignore[attr-defined]
        return attention

    return decorate


# --- scale ----------------------------------------------------------------------------------------------------------


@deviation("reference", kind="fault")
def wide_values_read_with_the_width_of_keys(right: Any, q: Any, k: Any, v: Any, *masks: Any, **keywords: Any) -> Any:
    """a kernel for heads of more than 64 features reads d_k features of each value; it leaves the others zero.

    Shows: values wider than keys that have more than 64 features. Hides: d_v ≤ d_k, narrow heads.
    """
    y = right(q, k, v, *masks, **keywords)
    if q.shape[-1] > 64:
        y[..., q.shape[-1] :] = 0
    return y


@deviation("reference", "scale_follows_the_width_of_queries", "two_keys")
@instead_of(choose_scale)
def scale_by_d_k(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """the scores are divided by d_k, not by its root.

    Shows: the default scale with d_k > 1 and scores that differ. Hides: scores near 0.
    """
    return 1 / q.shape[-1] if scale is None else scale


@deviation("reference", "scale_follows_the_width_of_queries", "two_keys")
@instead_of(choose_scale)
def not_scaled(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """the scores are not scaled unless a scale is given.

    Shows: the default scale with d_k > 1. Hides: d_k = 1, a given scale.
    """
    return 1.0 if scale is None else scale


@deviation("reference", "scale_follows_the_width_of_queries", "two_keys")
@instead_of(choose_scale)
def scale_of_values(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """the scale is 1 / sqrt(d_v), from the width of the values.

    Shows: d_v other than d_k. Hides: d_v = d_k, as in most models.
    """
    return 1 / np.sqrt(v.shape[-1]) if scale is None else scale


@deviation("reference", "scale_follows_the_width_of_queries", "two_keys")
@instead_of(choose_scale)
def scale_of_the_padded_width(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """the scale is 1 / sqrt(d), d being d_k rounded up to a multiple of 16, as a kernel pads it.

    Shows: d_k that is no multiple of 16. Hides: d_k = 64 and 128.
    """
    return 1 / np.sqrt(-(-q.shape[-1] // 16) * 16) if scale is None else scale


@deviation("reference", "scale_multiplies_scores", "scale_zero")
@instead_of(choose_scale)
def scale_ignored(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """the scale is 1 / sqrt(d_k) whatever is given.

    Shows: any other scale. Hides: the default.
    """
    return 1 / np.sqrt(q.shape[-1])


@deviation("reference", "scale_zero")
@instead_of(choose_scale)
def scale_zero_is_unset(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """a scale of 0 is treated as not given, as `scale or 1 / sqrt(d_k)` does.

    Shows: scale = 0. Hides: any other.
    """
    zero = scale is not None and np.all(getattr(scale, "value", scale) == 0)
    return choose_scale(q, k, v, None if zero else scale)


@deviation("reference", "default_scale")
@instead_of(choose_scale)
def scale_on_top(q: Any, k: Any, v: Any, scale: float | None) -> Any:
    """a given scale multiplies 1 / sqrt(d_k) instead of replacing it.

    Shows: a given scale with d_k > 1. Hides: the default, d_k = 1.
    """
    return (1.0 if scale is None else scale) / np.sqrt(q.shape[-1])


# --- scores ---------------------------------------------------------------------------------------------------------


@deviation("reference", "bias_comes_after_the_scale")
@instead_of(compute_scores)
def scale_after_the_bias(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the bias is added before the scale, which then multiplies it too.

    Shows: finite biases, as of ALiBi. Hides: biases of 0 and minus infinity.
    """
    s = np.matmul(eager(q), np.swapaxes(eager(k), -1, -2))
    return s * scale if bias is None else (s + float64(bias)) * scale


@deviation("reference", "bias_comes_after_the_scale")
@instead_of(compute_scores)
def bias_subtracted(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the bias is subtracted from the scores.

    Shows: any bias that differs among keys. Hides: biases that are constant along a row.
    """
    return compute_scores(q, k, scale, None if bias is None else -float64(bias))


@deviation("reference", "bias_comes_after_the_scale")
@instead_of(compute_scores)
def bias_ignored(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """the bias is not added.

    Shows: any bias that differs among keys. Hides: biases that are constant along a row.
    """
    return compute_scores(q, k, scale, None)


@deviation("reference")
@instead_of(compute_scores)
def bias_of_the_first_entry(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """every entry of the batch has the bias of the first.

    Shows: biases that differ within a batch. Hides: a batch of one, a bias that all entries share.
    """
    first = bias[(0,) * (bias.ndim - 2)] if bias is not None and bias.ndim > 2 else bias
    return compute_scores(q, k, scale, first)
