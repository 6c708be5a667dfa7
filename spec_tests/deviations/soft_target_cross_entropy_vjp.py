"""What goes wrong with the gradient of soft_target_cross_entropy: weights, smoothing, and what it is divided by."""

import math
from typing import Any

import numpy as np

from reference_numpy.soft_target_cross_entropy_vjp import soft_target_cross_entropy_vjp

from . import deviation
from ._steps import plain


@deviation("reference", "rows_sum_to_zero", "classes_have_their_own_weights")
def probabilities_without_the_weights(
    cotangent: Any, logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the probabilities are not multiplied by the sum of w q: the gradient is c (p − w q).

    Shows: a weight. Hides: none.
    """
    dz, *others = soft_target_cross_entropy_vjp(cotangent, logits, targets, weight, reduction=reduction, **options)
    if weight is None:
        return dz, *others
    q = (1 - options.get("label_smoothing", 0.0)) * targets + options.get("label_smoothing", 0.0) / targets.shape[-1]
    plain, *_ = soft_target_cross_entropy_vjp(cotangent, logits, targets, reduction=reduction, **options)
    share = np.reshape(cotangent, (*logits.shape[:-1], 1)) if reduction == "none" else cotangent
    if reduction == "mean":
        share = share / max(math.prod(logits.shape[:-1]), 1)
    return plain + share * (q - weight * q), *others


@deviation("reference", "classes_have_their_own_weights")
def weight_ignored(cotangent: Any, logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the gradient is that of the loss without weight.

    Shows: a weight. Hides: none.
    """
    return soft_target_cross_entropy_vjp(cotangent, logits, targets, **options)


@deviation("reference", "mean_and_sum")
def mean_not_divided(
    cotangent: Any, logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the mean's gradient is not divided by the number of rows.

    Shows: the mean of two rows or more. Hides: sums, a single row.
    """
    reduction = {"mean": "sum"}.get(reduction, reduction)
    return soft_target_cross_entropy_vjp(cotangent, logits, targets, weight, reduction=reduction, **options)


@deviation("reference")
def smoothing_forgotten(
    cotangent: Any, logits: Any, targets: Any, weight: Any = None, *, label_smoothing: float = 0.0, **options: Any
) -> Any:
    """the gradient is that of the loss without smoothing.

    Shows: smoothing. Hides: none.
    """
    return soft_target_cross_entropy_vjp(cotangent, logits, targets, weight, **options)


@deviation("reference", "probabilities")
def cotangent_ignored(cotangent: Any, logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the cotangent is treated as 1, as in kernels that compute the gradient in the forward pass.

    Shows: a cotangent other than 1. Hides: loss.backward().
    """
    return soft_target_cross_entropy_vjp(np.ones(cotangent.shape), logits, targets, weight, **options)


@deviation("reference", "probabilities")
def most_probable_class_alone(cotangent: Any, logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the target is the most probable class alone, as in the gradient of the loss of class ids.

    Shows: targets with two classes or more. Hides: targets of one class.
    """
    alone = (np.arange(targets.shape[-1]) == np.argmax(plain(targets), axis=-1)[..., None]) * 1.0
    return soft_target_cross_entropy_vjp(cotangent, logits, alone, weight, **options)


@deviation("reference")
def first_cotangent_for_all(cotangent: Any, logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """with reduction none, every row is multiplied by the cotangent of the first: the kernel loads one number.

    Shows: cotangents that differ from row to row. Hides: the mean and the sum, a single row.
    """
    one = np.ones(cotangent.shape) * np.reshape(cotangent, (-1,))[0] if math.prod(cotangent.shape) else cotangent
    return soft_target_cross_entropy_vjp(one, logits, targets, weight, **options)
