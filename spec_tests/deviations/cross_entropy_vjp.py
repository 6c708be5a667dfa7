"""What goes wrong with the gradient of cross_entropy: which rows have one, and what it is divided by."""

import math
from typing import Any

import numpy as np

from reference_numpy._sums import rows
from reference_numpy._targets import is_kept
from reference_numpy.cross_entropy_vjp import cross_entropy_vjp

from . import deviation


@deviation("reference", "mean_and_sum")
def mean_over_all_rows(cotangent: Any, logits: Any, targets: Any, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean's gradient is divided by the number of all rows, the ignored ones included.

    Shows: an ignored row and the mean. Hides: sums, and targets that are all kept.
    """
    if reduction != "mean":
        return cross_entropy_vjp(cotangent, logits, targets, reduction=reduction, **options)
    dz, *others = cross_entropy_vjp(cotangent, logits, targets, reduction="sum", **options)
    return dz / max(np.size(targets), 1), *others


@deviation("reference", "ignored_rows_have_none")
def ignored_rows_learn(cotangent: Any, logits: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """an ignored row gets the gradient of a row whose target is the first entry.

    Shows: an ignored row. Hides: targets that are all kept.
    """
    targets = np.asarray(targets)
    return cross_entropy_vjp(cotangent, logits, np.where(targets == ignore_index, 0, targets), **options)


@deviation("reference", "rows_sum_to_zero", "probabilities")
def target_not_subtracted(cotangent: Any, logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the gradient is the probabilities alone.

    Shows: every row. Hides: a weight.
    """
    if weight is not None:
        return cross_entropy_vjp(cotangent, logits, targets, weight, **options)
    even, *others = cross_entropy_vjp(cotangent, logits, targets, **{**options, "label_smoothing": 1.0})
    kept, _ = is_kept(targets, options.get("ignore_index", -100))
    share = np.reshape(cotangent, (-1, 1)) if options.get("reduction", "mean") == "none" else cotangent
    if options.get("reduction", "mean") == "mean":
        share = share / max(int(np.sum(kept)), 1)
    softcap = options.get("softcap")
    slope = 1.0 if softcap is None else 1 - np.square(np.tanh(rows(logits) / softcap))
    dz = rows(even) + np.where(kept[:, None], slope * share / logits.shape[-1], 0.0)
    return np.reshape(dz, logits.shape), *others


@deviation("reference")
def smoothing_forgotten(cotangent: Any, logits: Any, targets: Any, *, label_smoothing: float = 0.0, **options: Any) -> Any:
    """the smoothed term has no gradient.

    Shows: smoothing. Hides: none.
    """
    plain, *others = cross_entropy_vjp(cotangent, logits, targets, **options)
    return plain * (1 - label_smoothing), *others


@deviation("reference")
def z_loss_without_gradient(cotangent: Any, logits: Any, targets: Any, *, z_loss: float = 0.0, **options: Any) -> Any:
    """z_loss has no gradient.

    Shows: a z_loss. Hides: none.
    """
    return cross_entropy_vjp(cotangent, logits, targets, **options)


@deviation("reference")
def cap_without_slope(cotangent: Any, logits: Any, targets: Any, *, softcap: float | None = None, **options: Any) -> Any:
    """the slope of the cap is left out: the gradient is that of the capped logits.

    Shows: logits near the softcap or beyond. Hides: small ones.
    """
    z = logits if softcap is None else softcap * np.tanh(logits / softcap)
    return cross_entropy_vjp(cotangent, z, targets, **options)


@deviation("reference", "probabilities")
def cotangent_ignored(cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    """the cotangent is treated as 1, as in kernels that compute the gradient in the forward pass.

    Shows: a cotangent other than 1. Hides: loss.backward().
    """
    return cross_entropy_vjp(np.ones(cotangent.shape), logits, targets, **options)


@deviation("reference", seen=("https://github.com/linkedin/Liger-Kernel/issues/678",))
def first_cotangent_for_all(cotangent: Any, logits: Any, targets: Any, **options: Any) -> Any:
    """with reduction none, every row is multiplied by the cotangent of the first: the kernel loads one number.

    Shows: cotangents that differ from row to row. Hides: the mean and the sum, a single row.
    """
    one = np.ones(cotangent.shape) * np.reshape(cotangent, (-1,))[0] if math.prod(cotangent.shape) else cotangent
    return cross_entropy_vjp(one, logits, targets, **options)


@deviation("reference", "rows_have_the_weights_of_their_targets")
def weight_ignored(cotangent: Any, logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the gradient is that of the loss without weight.

    Shows: a weight. Hides: the mean of rows that have one target.
    """
    return cross_entropy_vjp(cotangent, logits, targets, **options)


@deviation("reference", "rows_have_the_weights_of_their_targets")
def weighted_mean_over_rows(
    cotangent: Any, logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the gradient of the weighted mean is divided by the number of rows that are kept, not by the sum of their weights.

    Shows: a weight and the mean. Hides: sums, weights of mean 1.
    """
    if weight is None or reduction != "mean":
        return cross_entropy_vjp(cotangent, logits, targets, weight, reduction=reduction, **options)
    kept, _ = is_kept(targets, options.get("ignore_index", -100))
    dz, *others = cross_entropy_vjp(cotangent, logits, targets, weight, reduction="sum", **options)
    return dz / max(int(np.sum(kept)), 1), *others
