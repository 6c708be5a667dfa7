"""What goes wrong with scaled_dot_product_attention where some queries do not see some keys."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import rounded
from reference_numpy.causal_mask import causal_mask
from reference_numpy.softmax import softmax
from spec_tests.deviation import deviation

from .scaled_dot_product_attention import hidden, instead_of, scores, visible, weights

# --- which keys are hidden ------------------------------------------------------------------------------------------


@deviation(
    "reference",
    "masked_weight_is_zero",
    "all_true_mask",
    kind="convention",
    seen=("https://github.com/lucidrains/x-transformers/issues/160", "https://github.com/pytorch/pytorch/issues/92554"),
)
@instead_of(visible)
def mask_inverted(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """True in the mask hides a key.

    Shows: any mask but one of as many True as False that is its own complement. Hides: no mask.
    """
    return visible(None if mask is None else np.logical_not(mask), n, m, is_causal)


@deviation("reference", "masked_weight_is_zero")
@instead_of(visible)
def mask_transposed(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """the mask is read as [key, query], where there are as many of both.

    Shows: n = m and a mask that is not symmetric. Hides: masks of one row for all queries; n other than m.
    """
    square = mask is not None and np.shape(mask)[-2:] == (n, n) == (n, m)
    return visible(np.swapaxes(mask, -1, -2) if square else mask, n, m, is_causal)


@deviation("reference", "masked_weight_is_zero")
@instead_of(visible)
def mask_of_the_first_entry(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """every entry of the batch has the mask of the first.

    Shows: masks that differ within a batch. Hides: a batch of one, a mask that all entries share.
    """
    batched = np.ndim(mask) > 2
    return visible(np.reshape(mask, (-1, *np.shape(mask)[-2:]))[0] if batched else mask, n, m, is_causal)


@deviation("reference", "masked_weight_is_zero")
@instead_of(visible)
def mask_of_the_first_query(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """every query has the mask of the first, as if only keys could be masked.

    Shows: masks that differ among queries. Hides: padding masks.
    """
    return visible(mask if np.ndim(mask) < 2 else np.asarray(mask)[..., :1, :], n, m, is_causal)


@deviation("reference", "mask_and_causal", seen=("https://github.com/pytorch/pytorch/issues/96099",))
@instead_of(visible)
def mask_ignored_if_causal(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """with is_causal the mask is ignored.

    Shows: both together. Hides: either alone.
    """
    return visible(None if is_causal else mask, n, m, is_causal)


@deviation("mask_and_causal")
@instead_of(visible)
def causality_ignored_if_masked(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """with a mask is_causal is ignored.

    Shows: both together. Hides: either alone.
    """
    return visible(mask, n, m, is_causal and mask is None)


@deviation("reference", "mask_and_causal")
@instead_of(visible)
def mask_or_causal(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """a key need pass only one of mask and causality.

    Shows: both together. Hides: either alone.
    """
    causal = visible(None, n, m, is_causal)
    return mask if causal is None else causal if mask is None else np.logical_or(mask, causal)


@deviation("reference", "causal", "causal_prefix")
@instead_of(visible)
def causality_ignored(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """is_causal is ignored.

    Shows: is_causal with two tokens or more. Hides: n = 1.
    """
    return mask


@deviation("reference", "causal", "causal_prefix")
@instead_of(visible)
def causal_sees_one_ahead(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """under causality a query sees the next key as well: j <= i + 1.

    Shows: a next key that matters. Hides: measures averaged over long sequences.
    """
    ahead = np.tri(n, m, 1, dtype=bool)
    return visible(mask, n, m, is_causal) if not is_causal or n != m else ahead if mask is None else np.logical_and(mask, ahead)


@deviation("reference", "causal")
@instead_of(visible)
def causal_without_oneself(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """under causality a query does not see its own key, except the first: j < i.

    Shows: n > 1. Hides: n = 1.
    """
    earlier = np.tri(n, m, -1, dtype=bool) | (np.arange(m) == 0)
    return (
        visible(mask, n, m, is_causal) if not is_causal or n != m else earlier if mask is None else np.logical_and(mask, earlier)
    )


@deviation(
    "causal_alignment",
    kind="convention",
    seen=("https://github.com/pytorch/pytorch/issues/108108", "https://github.com/pytorch/pytorch/issues/103082"),
)
@instead_of(visible)
def causal_top_left(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """under causality the first query is level with the first key, whatever n and m are: j <= i.

    Shows: n other than m, as in decoding. Hides: n = m.
    """
    causal = causal_mask(n=n, m=m, aligned="top-left")
    return mask if not is_causal else causal if mask is None else np.logical_and(mask, causal)


# --- how they are hidden --------------------------------------------------------------------------------------------


@deviation("reference", "masked_weight_is_zero")
@instead_of(weights)
def hidden_score_is_zero(s: Any, mask: Any) -> Any:
    """scores are multiplied by the mask: a hidden key has the score 0, not minus infinity.

    Shows: any mask. Hides: visible scores far above 0.
    """
    return rounded(softmax(hidden(s, mask, 0.0), axis=-1))


@deviation("reference", "sums_to_one", "constant_values")
@instead_of(weights)
def mask_after_the_softmax(s: Any, mask: Any) -> Any:
    """weights are multiplied by the mask after the softmax, and no longer sum to 1.

    Shows: constant values. Hides: a mask that is True everywhere.
    """
    return hidden(weights(s, None), mask, 0.0)


@deviation("nothing_flows_where_masked")
@instead_of(weights)
def hidden_score_is_minus_10000(s: Any, mask: Any) -> Any:
    """a hidden key has the score -10000, not minus infinity.

    Shows: visible scores below -10000; a query that sees no key. Hides: ordinary scores.
    """
    return rounded(softmax(hidden(s, mask, -1e4), axis=-1))


@deviation("nothing_flows_where_masked", dtypes=("float64", "float32", "bfloat16"))
@instead_of(weights)
def mask_adds_minus_a_billion(s: Any, mask: Any) -> Any:
    """a hidden key's score is lowered by 1e9, not replaced.

    Shows: hidden keys whose scores are larger than that. Hides: ordinary scores.
    """
    return rounded(softmax(s if mask is None else s + np.where(mask, 0.0, -1e9), axis=-1))


@deviation("fully_masked_rows", seen=("https://github.com/ml-explore/mlx/issues/2395",))
@instead_of(weights)
def blind_queries_get_the_mean(s: Any, mask: Any) -> Any:
    """a query that sees no key gets the mean of all values, as with hidden scores of the most negative finite number.

    Shows: a row of the mask that is False throughout. Hides: any other mask.
    """
    return rounded(softmax(hidden(s, mask, -(2.0**1023)), axis=-1))


@deviation("fully_masked_rows", kind="fault", seen=("https://github.com/pytorch/pytorch/issues/41508",))
def blind_queries_get_nan(right: Callable[..., Any], q: Any, k: Any, v: Any, mask: Any = None, **keywords: Any) -> Any:
    """a query that sees no key gets NaN where zeros were promised: minus infinity less minus infinity.

    Shows: a row of the mask that is False throughout. Hides: any other mask.
    """
    y = right(q, k, v, mask, **keywords)
    seen = True if mask is None else np.any(np.broadcast_to(mask, (*np.shape(mask)[:-1], k.shape[-2])), axis=-1, keepdims=True)
    return np.where(seen, y, np.nan).astype(y.dtype)


@deviation("every_argument_counts", kind="fault")
def mask_remembered(
    right: Callable[..., Any], q: Any, k: Any, v: Any, mask: Any = None, *, memory: dict[Any, Any], **keywords: Any
) -> Any:
    """a mask is kept for later calls with as many queries and keys.

    Shows: two masks of one shape. Hides: a process that uses one mask.
    """
    if mask is not None:
        mask = memory.setdefault(np.shape(mask), mask)
    return right(q, k, v, mask, **keywords)


# --- biases ---------------------------------------------------------------------------------------------------------


@deviation("reference")
@instead_of(scores)
def bias_of_the_first_entry(q: Any, k: Any, scale: Any, bias: Any) -> Any:
    """every entry of the batch has the bias of the first.

    Shows: biases that differ within a batch. Hides: a batch of one, a bias that all entries share.
    """
    first = bias[(0,) * (bias.ndim - 2)] if bias is not None and bias.ndim > 2 else bias
    return scores(q, k, scale, first)
