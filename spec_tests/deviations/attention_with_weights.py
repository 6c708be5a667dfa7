"""What goes wrong with attention that returns its weights: which weights they are."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy.attention_with_weights import attention_with_weights
from reference_numpy.scaled_dot_product_attention import _scores
from reference_numpy.softmax import softmax

from . import deviation


def change_weights(change: Callable[..., Any]) -> Callable[..., Any]:
    """Return attention whose out is right, and whose weights are change(weights, scores, q, k, v, mask, keywords)."""

    @wraps(change)
    def attention(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: Any = None) -> Any:
        out, weights = attention_with_weights(q, k, v, mask, is_causal=is_causal, scale=scale)
        used = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
        return out, change(weights, float64(q), float64(k), mask, is_causal, used)

    del attention.__wrapped__
    return attention


@deviation("reference", "rows_sum_to_one", "average_the_values")
@change_weights
def scores_returned(weights: Any, q: Any, k: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """the scores are returned, not their softmax.

    Shows: every call. Hides: out, which is right.
    """
    return _scores(q, k, mask, None, is_causal, scale)


@deviation("reference", "hidden_keys_have_no_weight")
@change_weights
def weights_before_the_mask(weights: Any, q: Any, k: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """the weights returned are those of all keys, without the mask and without causality.

    Shows: a mask, or causality. Hides: neither.
    """
    everything = softmax(_scores(q, k, None, None, False, scale), axis=-1)
    return np.broadcast_to(everything, weights.shape)


@deviation("reference", "rows_sum_to_one")
@change_weights
def normalized_over_queries(weights: Any, q: Any, k: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """the weights returned are divided by their sum over the queries of each key.

    Shows: queries and keys of different numbers or scores. Hides: one query and one key.
    """
    return weights / np.sum(weights, axis=-2, keepdims=True)


@deviation("reference", "average_the_values")
@change_weights
def weights_without_the_scale(weights: Any, q: Any, k: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """the weights returned are those of unscaled scores.

    Shows: any scale but 1. Hides: d_k = 1 without a scale; one key.
    """
    return softmax(_scores(q, k, mask, None, is_causal, 1.0), axis=-1)


@deviation("reference", "average_the_values")
@change_weights
def keys_reversed(weights: Any, q: Any, k: Any, mask: Any, is_causal: bool, scale: Any) -> Any:
    """the weights are returned from the last key to the first.

    Shows: two keys or more. Hides: equal weights; one key.
    """
    return np.flip(weights, axis=-1)


@deviation("reference", "rows_sum_to_one")
def weights_masked_after_the_softmax(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: Any = None
) -> Any:
    """masked weights are set to 0 after the softmax, and the rest not divided again: rows sum to less than one.

    Shows: a mask. Hides: none; masked keys of low scores.
    """
    out, weights = attention_with_weights(q, k, v, None, is_causal=is_causal, scale=scale)
    if mask is None:
        return out, weights
    weights = np.where(mask, weights, 0.0)
    return np.matmul(weights, float64(v)), weights


@deviation("reference", "average_the_values", "blind_to_values")
def weights_times_lengths_of_values(
    q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: Any = None
) -> Any:
    """each weight returned is multiplied by the length of its value: what a key contributes, not its weight.

    Shows: values of any length but 1. Hides: out, which is right.
    """
    out, weights = attention_with_weights(q, k, v, mask, is_causal=is_causal, scale=scale)
    return out, weights * np.sqrt(np.sum(np.square(float64(v)), axis=-1))[..., None, :]
