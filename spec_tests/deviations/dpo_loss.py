"""What goes wrong with dpo_loss: the margin, where beta stands, and how labels are smoothed."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic
from reference_numpy._preferences import margin
from reference_numpy.dpo_loss import dpo_loss

from . import deviation
from ._steps import plain


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0.0) + np.log(1 + np.exp(-np.abs(x)))


def _reduce(loss: Any, reduction: str) -> Any:
    return loss if reduction == "none" else np.mean(loss, axis=0)


@deviation("reference", "margin_alone")
def reference_ignored(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the reference is left out: the margin is that of the policy alone.

    Shows: a reference that prefers one answer. Hides: equal probabilities of both in the reference.
    """
    return dpo_loss(policy_chosen, policy_rejected, 0 * reference_chosen, 0 * reference_rejected, **options)


@deviation("reference", "margin_alone")
def reference_added(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the margin of the reference is added and not subtracted, or its two answers are exchanged.

    Shows: a reference that prefers one answer. Hides: equal probabilities of both in the reference.
    """
    return dpo_loss(policy_chosen, policy_rejected, reference_rejected, reference_chosen, **options)


@deviation("reference", "opposite_margins")
def chosen_and_rejected_exchanged(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, **options: Any
) -> Any:
    """the chosen and the rejected answers are exchanged: the rejected one is made more probable.

    Shows: a margin. Hides: none.
    """
    return dpo_loss(policy_rejected, policy_chosen, reference_rejected, reference_chosen, **options)


@deviation("reference", "beta_scales_the_margin", "no_margin")
def beta_outside_of_the_logarithm(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, *, beta: float = 0.1, **options: Any
) -> Any:
    """beta multiplies the loss and not the margin.

    Shows: every beta but 1. Hides: beta = 1.
    """
    return beta * dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, beta=1.0, **options)


@deviation("reference", "margin_alone")
def beta_times_the_policy_alone(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, *, beta: float = 0.1, **options: Any
) -> Any:
    """beta multiplies the margin of the policy, and not that of the reference.

    Shows: a reference that prefers one answer. Hides: beta = 1.
    """
    return dpo_loss(beta * policy_chosen, beta * policy_rejected, reference_chosen, reference_rejected, beta=1.0, **options)


@deviation("reference", "opposite_margins")
def beta_ignored(
    policy_chosen: Any, policy_rejected: Any, reference_chosen: Any, reference_rejected: Any, *, beta: float = 0.1, **options: Any
) -> Any:
    """beta is always 0.1.

    Shows: another beta. Hides: beta = 0.1.
    """
    return dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options)


@deviation("reference", "opposite_margins")
def hinge(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """the loss is max(0, 1 − beta d), as that of SLiC.

    Shows: every margin. Hides: nothing.
    """
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    parts = (1 - label_smoothing) * np.maximum(1 - x, 0.0) + label_smoothing * np.maximum(1 + x, 0.0)
    return _reduce(parts, reduction)


@deviation("reference", "no_margin")
def squared(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """the loss is (d − 1/(2 beta))², as that of IPO.

    Shows: every margin. Hides: nothing.
    """
    return _reduce(
        np.square(margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected) - 1 / (2 * beta)), reduction
    )


@deviation("reference", "no_margin")
def probability_without_its_logarithm(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """the loss is −sigmoid(beta d): the logarithm is missing.

    Shows: every margin. Hides: nothing.
    """
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    return _reduce(-(1 - label_smoothing) * logistic(x) - label_smoothing * logistic(-x), reduction)


@deviation("reference", "smoothing_adds_the_margin", "smoothing_exchanges_the_answers")
def smoothing_ignored(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    label_smoothing: float = 0.0,
    **options: Any,
) -> Any:
    """nothing is smoothed.

    Shows: smoothing. Hides: none.
    """
    return dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, **options)


@deviation("reference", "smoothing_adds_the_margin")
def smoothing_added(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """the term of the wrong labels is added, while that of the right ones keeps its full share.

    Shows: smoothing. Hides: none.
    """
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    return _reduce(_softplus(-x) + label_smoothing * _softplus(x), reduction)


@deviation("reference", "smoothing_adds_the_margin", kind="convention")
def robust(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """the term of the wrong labels is subtracted, and the whole divided by 1 − 2e, as in robust DPO.

    Shows: smoothing. Hides: none.
    """
    x, e = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected), label_smoothing
    with np.errstate(all="ignore"):
        return _reduce(((1 - e) * _softplus(-x) - e * _softplus(x)) / (np.float64(1.0) - 2 * e), reduction)


@deviation("reference", "smoothing_adds_the_margin")
def smoothing_between_classes(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    label_smoothing: float = 0.0,
    **options: Any,
) -> Any:
    """the smoothed share goes to both answers, e/2 each, as label smoothing of a classifier has it.

    Shows: smoothing. Hides: none.
    """
    return dpo_loss(
        policy_chosen, policy_rejected, reference_chosen, reference_rejected, label_smoothing=label_smoothing / 2, **options
    )


@deviation("reference", "mean_is_over_pairs")
def mean_is_the_sum(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    """the mean is the sum: nothing is divided.

    Shows: two pairs or more. Hides: a single pair.
    """
    loss = dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, reduction="none", **options)
    return loss if reduction == "none" else np.sum(loss, axis=0)


@deviation("reference", "parts_of_the_batch")
def loss_of_the_mean_margin(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    reduction: str = "mean",
    **options: Any,
) -> Any:
    """the margin is the mean of the batch, of which the loss is taken once.

    Shows: margins that differ. Hides: a single pair, and reduction none.
    """
    if reduction == "none":
        return dpo_loss(policy_chosen, policy_rejected, reference_chosen, reference_rejected, reduction="none", **options)
    means = (np.mean(x, axis=0, keepdims=True) for x in (policy_chosen, policy_rejected, reference_chosen, reference_rejected))
    return dpo_loss(*means, reduction="mean", **options)


@deviation("reference", "no_overflow", kind="arithmetic")
def logarithm_of_sigmoid(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    held: Any = None,
) -> Any:
    """the sigmoid is computed first, and then its logarithm, which is −inf where the sigmoid is 0.

    Shows: beta times the margin below −88 in float32. Hides: ordinary margins.
    """
    held = held or (lambda x: x)
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    with np.errstate(all="ignore"):
        right, wrong = (-np.log(held(logistic(side))) for side in (x, -x))
        return _reduce((1 - label_smoothing) * right + label_smoothing * wrong, reduction)


@deviation("reference", "opposite_margins", kind="arithmetic")
def margin_clipped(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """beta times the margin is clipped to ±10 before the logarithm.

    Shows: larger margins. Hides: ordinary ones.
    """
    x = np.maximum(np.minimum(beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected), 10.0), -10.0)
    loss = (1 - label_smoothing) * _softplus(-x) + label_smoothing * _softplus(x)
    return _reduce(loss, reduction)


@deviation("relative_tail", kind="arithmetic")
def sum_of_one_and_the_exponential(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    held: Any = None,
) -> Any:
    """log(1 + e^−x) instead of log1p(e^−x): the loss of a large margin is 0.

    Shows: beta times the margin above 10 in float32, to a relative error. Hides: smaller margins.
    """
    held = held or (lambda x: x)
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    tail = np.log(held(1 + np.exp(-np.abs(x))))
    parts = ((1 - label_smoothing) * (np.maximum(-x, 0.0) + tail), label_smoothing * (np.maximum(x, 0.0) + tail))
    return _reduce(parts[0] + parts[1], reduction)


@deviation("reference", kind="arithmetic", dtypes=("float64",))
def straight_beyond_twenty(
    policy_chosen: Any,
    policy_rejected: Any,
    reference_chosen: Any,
    reference_rejected: Any,
    *,
    beta: float = 0.1,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """the softplus is taken for its argument beyond 20, as torch.nn.functional.softplus does.

    Shows: beta times the margin below −20 in float64. Hides: float32, where e^−20 is below the rounding.
    """
    x = beta * margin(policy_chosen, policy_rejected, reference_chosen, reference_rejected)
    right, wrong = (np.where(plain(side) > 20, side, _softplus(side)) for side in (-x, x))
    return _reduce((1 - label_smoothing) * right + label_smoothing * wrong, reduction)
