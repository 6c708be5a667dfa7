"""What goes wrong with how scaled_dot_product_attention hides a key, and with queries that see none."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import float64, rounded
from reference_numpy.softmax import softmax

from . import deviation
from .scaled_dot_product_attention import (
    average_values,
    choose_scale,
    combine_masks,
    compute_scores,
    compute_weights,
    hide_scores,
    instead_of,
)


@deviation("reference", "masked_weight_is_zero")
@instead_of(compute_weights)
def hidden_score_is_zero(s: Any, mask: Any) -> Any:
    """scores are multiplied by the mask: a hidden key has the score 0, not minus infinity.

    Shows: any mask. Hides: visible scores far above 0.
    """
    return rounded(softmax(hide_scores(s, mask, 0.0), axis=-1))


@deviation("reference", "sums_to_one", "constant_values")
@instead_of(compute_weights)
def mask_after_the_softmax(s: Any, mask: Any) -> Any:
    """weights are multiplied by the mask after the softmax, and no longer sum to 1.

    Shows: constant values. Hides: a mask that is True everywhere.
    """
    return hide_scores(compute_weights(s, None), mask, 0.0)


@deviation("nothing_flows_where_masked")
@instead_of(compute_weights)
def hidden_score_is_minus_10000(s: Any, mask: Any) -> Any:
    """a hidden key has the score -10000, not minus infinity.

    Shows: visible scores below -10000; a query that sees no key. Hides: ordinary scores.
    """
    return rounded(softmax(hide_scores(s, mask, -1e4), axis=-1))


@deviation("nothing_flows_where_masked", dtypes=("float64", "float32", "bfloat16"))
@instead_of(compute_weights)
def mask_adds_minus_a_billion(s: Any, mask: Any) -> Any:
    """a hidden key's score is lowered by 1e9, not replaced.

    Shows: hidden keys whose scores are larger than that. Hides: ordinary scores.
    """
    return rounded(softmax(s if mask is None else s + np.where(mask, 0.0, -1e9), axis=-1))


@deviation("reference", "scale_zero", seen=("https://github.com/pytorch/pytorch/pull/105202",))
def causality_before_the_scale(
    q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, is_causal: bool = False, scale: float | None = None
) -> Any:
    """later keys have the score minus infinity before the scale multiplies it, and a scale of 0 makes NaN of that.

    Shows: a scale of 0, or below, under causality. Hides: positive scales, a mask instead.
    """
    q, k, v = float64(q), float64(k), float64(v)
    s = hide_scores(compute_scores(q, k, 1.0, None), combine_masks(None, q.shape[-2], k.shape[-2], is_causal)) * choose_scale(
        q, k, v, scale
    )
    return average_values(compute_weights(s if bias is None else s + float64(bias), mask), v)


@deviation("fully_masked_rows", seen=("https://github.com/ml-explore/mlx/issues/2395",))
@instead_of(compute_weights)
def blind_queries_get_the_mean(s: Any, mask: Any) -> Any:
    """a query that sees no key gets the mean of all values, as with hidden scores of the most negative finite number.

    Shows: a row of the mask that is False throughout. Hides: any other mask.
    """
    return rounded(softmax(hide_scores(s, mask, -(2.0**1023)), axis=-1))


@deviation("fully_masked_rows", kind="fault", seen=("https://github.com/pytorch/pytorch/issues/41508",))
def blind_queries_get_nan(right: Callable[..., Any], q: Any, k: Any, v: Any, mask: Any = None, **keywords: Any) -> Any:
    """a query that sees no key gets NaN where zeros were promised: minus infinity less minus infinity.

    Shows: a row of the mask that is False throughout. Hides: any other mask.
    """
    y = right(q, k, v, mask, **keywords)
    seen = True if mask is None else np.any(np.broadcast_to(mask, (*np.shape(mask)[:-1], k.shape[-2])), axis=-1, keepdims=True)
    return np.where(seen, y, np.nan).astype(y.dtype)


@deviation("fully_masked_rows", kind="fault", like=("minus-ten-thousand-for-minus-infinity",))
def blind_by_bias_gets_the_mean(right: Callable[..., Any], q: Any, k: Any, v: Any, mask: Any = None, **keywords: Any) -> Any:
    """a query that the bias hides every key from gets the mean of all values, while one that the mask does so gets zeros.

    Shows: a bias whose row is minus infinity throughout. Hides: any other bias.
    """
    y, bias = right(q, k, v, mask, **keywords), keywords.get("bias")
    if bias is None:
        return y
    blind = np.all(np.broadcast_to(np.isneginf(bias), (*np.shape(bias)[:-1], k.shape[-2])), axis=-1, keepdims=True)
    return np.where(blind, np.mean(v, axis=-2, keepdims=True), y).astype(y.dtype)


@deviation("every_argument_counts", "mask_and_causal", kind="fault")
def mask_remembered(
    right: Callable[..., Any], q: Any, k: Any, v: Any, mask: Any = None, *, memory: dict[Any, Any], **keywords: Any
) -> Any:
    """a mask is kept for later calls with as many queries and keys.

    Shows: two masks of one shape. Hides: a process that uses one mask.
    """
    if mask is not None:
        mask = memory.setdefault(np.shape(mask), mask)
    return right(q, k, v, mask, **keywords)
