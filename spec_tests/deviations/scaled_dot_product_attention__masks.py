"""What goes wrong with scaled_dot_product_attention where some queries do not see some keys."""

from typing import Any

import numpy as np

from reference_numpy.causal_mask import causal_mask
from reference_numpy.scaled_dot_product_attention import scaled_dot_product_attention
from reference_numpy.softmax import softmax

from . import deviation
from .scaled_dot_product_attention import combine_masks, instead_of


def intersect_masks(mask: Any, other: Any) -> Any:
    return other if mask is None else np.logical_and(mask, other)


@deviation(
    "reference",
    "masked_weight_is_zero",
    "all_true_mask",
    kind="convention",
    seen=("https://github.com/lucidrains/x-transformers/issues/160", "https://github.com/pytorch/pytorch/issues/92554"),
)
@instead_of(combine_masks)
def mask_inverted(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """a key is hidden where the mask is True.

    Shows: any mask but one of as many True as False that is its own complement. Hides: no mask.
    """
    return combine_masks(None if mask is None else np.logical_not(mask), n, m, is_causal)


@deviation("reference", "masked_weight_is_zero")
@instead_of(combine_masks)
def mask_transposed(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """the mask is read as [key, query], where there are as many of both.

    Shows: n = m and a mask that is not symmetric. Hides: masks of one row for all queries; n other than m.
    """
    square = mask is not None and np.shape(mask)[-2:] == (n, n) == (n, m)
    return combine_masks(np.swapaxes(mask, -1, -2) if square else mask, n, m, is_causal)


@deviation("reference", "masked_weight_is_zero")
@instead_of(combine_masks)
def mask_of_the_first_entry(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """every entry of the batch has the mask of the first.

    Shows: masks that differ within a batch. Hides: a batch of one, a mask that all entries share.
    """
    batched = np.ndim(mask) > 2
    return combine_masks(np.reshape(mask, (-1, *np.shape(mask)[-2:]))[0] if batched else mask, n, m, is_causal)


@deviation("reference", "masked_weight_is_zero")
@instead_of(combine_masks)
def mask_of_the_first_query(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """every query has the mask of the first, as if only keys could be masked.

    Shows: masks that differ among queries. Hides: padding masks.
    """
    return combine_masks(mask if np.ndim(mask) < 2 else np.asarray(mask)[..., :1, :], n, m, is_causal)


@deviation("reference", "mask_and_causal", seen=("https://github.com/pytorch/pytorch/pull/178588",))
@instead_of(combine_masks)
def mask_ignored_if_causal(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """with is_causal the mask is ignored.

    Shows: both together. Hides: either alone.
    """
    return combine_masks(None if is_causal else mask, n, m, is_causal)


@deviation("mask_and_causal")
@instead_of(combine_masks)
def causality_ignored_if_masked(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """with a mask is_causal is ignored.

    Shows: both together. Hides: either alone.
    """
    return combine_masks(mask, n, m, is_causal and mask is None)


@deviation("reference", "mask_and_causal")
@instead_of(combine_masks)
def mask_or_causal(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """a key is seen if the mask or causality allows it, not only if both do.

    Shows: both together. Hides: either alone.
    """
    causal = combine_masks(None, n, m, is_causal)
    return mask if causal is None else causal if mask is None else np.logical_or(mask, causal)


@deviation("reference", "causal", "causal_prefix")
@instead_of(combine_masks)
def causality_ignored(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """is_causal is ignored.

    Shows: is_causal with two tokens or more. Hides: n = 1.
    """
    return mask


@deviation("reference", "causal")
@instead_of(combine_masks)
def causal_without_oneself(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """under causality a query does not see its own key, except the first: j < i.

    Shows: n > 1. Hides: n = 1.
    """
    earlier = np.tri(n, m, -1, dtype=bool) | (np.arange(m) == 0)
    return (
        combine_masks(mask, n, m, is_causal)
        if not is_causal or n != m
        else earlier
        if mask is None
        else np.logical_and(mask, earlier)
    )


@deviation(
    "causal_alignment",
    kind="convention",
    seen=("https://github.com/pytorch/pytorch/issues/108108", "https://github.com/pytorch/pytorch/issues/103082"),
)
@instead_of(combine_masks)
def causal_top_left(mask: Any, n: int, m: int, is_causal: bool) -> Any:
    """under causality the first query is aligned with the first key, whatever n and m are: j <= i.

    Shows: n other than m, as in decoding. Hides: n = m.
    """
    causal = causal_mask(n=n, m=m, aligned="top-left")
    return intersect_masks(mask, causal) if is_causal else mask


@deviation("nothing_flows_where_capped", "reference", seen=("https://github.com/Dao-AILab/flash-attention/pull/1025",))
def cap_after_the_mask(
    q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, is_causal: bool = False, scale: Any = None, softcap: Any = None
) -> Any:
    """the scores are capped after they were masked: a hidden key has the score −c, and shows.

    Shows: a mask or causality with a cap that is not large. Hides: no cap; no hidden keys.
    """
    if softcap is None:
        return scaled_dot_product_attention(q, k, v, mask, bias, is_causal=is_causal, scale=scale)
    n, m = q.shape[-2], k.shape[-2]
    seen = np.tri(n, m, dtype=bool) if is_causal else np.ones((n, m), dtype=bool)
    seen = seen if mask is None else np.logical_and(seen, mask)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.tanh(np.matmul(q, np.swapaxes(k, -1, -2)) * scale / softcap) * softcap
    return np.matmul(softmax(np.where(seen, scores, -softcap), axis=-1), v)


@deviation("reference", "a_large_cap_is_none")
def scores_not_divided_by_the_cap(
    q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, is_causal: bool = False, scale: Any = None, softcap: Any = None
) -> Any:
    """the capped score is c · tanh(s), without the division by c.

    Shows: any cap but 1. Hides: no cap, or a cap of 1; scores of 0.
    """
    if softcap is None:
        return scaled_dot_product_attention(q, k, v, mask, bias, is_causal=is_causal, scale=scale)
    n, m = q.shape[-2], k.shape[-2]
    seen = np.tri(n, m, dtype=bool) if is_causal else np.ones((n, m), dtype=bool)
    seen = seen if mask is None else np.logical_and(seen, mask)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    scores = np.tanh(np.matmul(q, np.swapaxes(k, -1, -2)) * scale) * softcap
    return np.matmul(softmax(np.where(seen, scores, -np.inf), axis=-1), v)


@deviation("softcap_bias", kind="fault")
def bias_capped_with_the_scores(
    right: Any, q: Any, k: Any, v: Any, mask: Any = None, bias: Any = None, *, softcap: Any = None, **options: Any
) -> Any:
    """the bias is added before the scores are capped, by code that states that it is added after.

    Shows: a bias with a cap that is not large. Hides: no cap, no bias.
    """
    if softcap is None or bias is None:
        return right(q, k, v, mask, bias, softcap=softcap, **options)
    scale = 1 / np.sqrt(q.shape[-1]) if options.get("scale") is None else options["scale"]
    scores = np.matmul(np.asarray(q, float), np.swapaxes(np.asarray(k, float), -1, -2)) * scale + np.asarray(bias, float)
    return right(0 * q, k, v, mask, (softcap * np.tanh(scores / softcap)).astype(q.dtype), **options)
