"""What goes wrong with the weights of the classes in cross_entropy: which weight a term has, and what the mean divides by."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._targets import counted_mean, is_kept
from reference_numpy.cross_entropy import cross_entropy

from . import deviation


@deviation("reference", "rows_have_the_weights_of_their_targets", "smoothed_entries_have_their_own_weights")
def weight_ignored(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """all entries of the vocabulary have the weight 1.

    Shows: a weight. Hides: the mean of rows that have one target.
    """
    return cross_entropy(logits, targets, **options)


@deviation("reference", "weights_of_one")
def weights_divided_by_their_sum(
    logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the weights are divided by their sum before they are used.

    Shows: a weight, and sums or rows. Hides: the mean, in which a common factor cancels.
    """
    if weight is not None and reduction != "mean":
        weight = float64(weight)
        weight = weight / np.sum(weight, axis=-1, keepdims=True)
    return cross_entropy(logits, targets, weight, reduction=reduction, **options)


@deviation("reference", "the_mean_is_weighted")
def weighted_mean_over_rows(
    logits: Any, targets: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean", **options: Any
) -> Any:
    """the weighted mean divides by the number of rows that are kept, not by the sum of their weights.

    Shows: a weight and the mean. Hides: sums, weights of mean 1.
    """
    options |= {"ignore_index": ignore_index}
    if weight is None or reduction != "mean":
        return cross_entropy(logits, targets, weight, reduction=reduction, **options)
    kept, _ = is_kept(targets, ignore_index)
    return counted_mean(cross_entropy(logits, targets, weight, reduction="sum", **options)[None], kept)


@deviation("reference", "the_mean_is_weighted")
def weights_of_ignored_rows_counted(
    logits: Any, targets: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean", **options: Any
) -> Any:
    """the weighted mean counts an ignored row with the weight of entry 0, at which its target was clamped.

    Shows: a weight, an ignored row and the mean. Hides: sums, targets that are all kept.
    """
    options |= {"ignore_index": ignore_index}
    if weight is None or reduction != "mean":
        return cross_entropy(logits, targets, weight, reduction=reduction, **options)
    kept, ids = is_kept(targets, ignore_index)
    total = cross_entropy(logits, targets, weight, reduction="sum", **options)[None]
    return counted_mean(total, kept, float64(weight)[ids]) if np.any(kept) else np.sum(total, axis=0) * np.nan


@deviation("reference", "smoothed_entries_have_their_own_weights")
def smoothed_entries_unweighted(
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    """the smoothed term has no weights.

    Shows: a weight and smoothing. Hides: either alone.
    """
    options |= {"ignore_index": ignore_index}
    if weight is None:
        return cross_entropy(logits, targets, label_smoothing=label_smoothing, reduction=reduction, **options)
    part = "sum" if reduction == "mean" else reduction
    own = cross_entropy(logits, targets, weight, reduction=part, **options)
    even = cross_entropy(logits, targets, label_smoothing=1.0, reduction=part, **options)
    return _mean(own * (1 - label_smoothing) + even * label_smoothing, targets, weight, ignore_index, reduction)


@deviation("reference", "smoothed_entries_have_their_own_weights")
def smoothed_entries_have_the_weight_of_the_target(
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    """the whole smoothed loss of a row has the weight of its target.

    Shows: a weight and smoothing. Hides: either alone.
    """
    options |= {"ignore_index": ignore_index}
    if weight is None:
        return cross_entropy(logits, targets, reduction=reduction, **options)
    kept, ids = is_kept(targets, ignore_index)
    of_target = np.reshape(np.where(kept, float64(weight)[ids], 0.0), np.shape(targets))
    loss = of_target * cross_entropy(logits, targets, reduction="none", **options)
    if reduction == "none":
        return loss
    return _mean(np.sum(np.reshape(loss, (-1,)), axis=0), targets, weight, ignore_index, reduction)


def _mean(total: Any, targets: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """Return a sum over rows, or the weighted mean that it makes. Without a reduction it is returned as it is."""
    if reduction != "mean":
        return total
    kept, ids = is_kept(targets, ignore_index)
    return counted_mean(np.reshape(total, (1,)), kept, np.where(kept, float64(weight)[ids], 0.0))
