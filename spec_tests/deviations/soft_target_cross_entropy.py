"""What goes wrong with soft_target_cross_entropy: what is weighted, what the mean divides by, and rules of other losses."""

from typing import Any

import numpy as np

from reference_numpy._sums import rows
from reference_numpy.log_softmax import log_softmax
from reference_numpy.soft_target_cross_entropy import soft_target_cross_entropy
from reference_numpy.softmax import softmax

from . import HALF, deviation
from ._steps import plain


def _reduce(loss: Any, shape: tuple[int, ...], reduction: str) -> Any:
    """Return the losses of rows, their sum, or their mean."""
    if reduction == "none":
        return np.reshape(loss, shape)
    return np.sum(loss, axis=0) if reduction == "sum" else np.mean(loss, axis=0)


def _row_losses(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    return np.reshape(soft_target_cross_entropy(logits, targets, weight, **{**options, "reduction": "none"}), (-1,))


def _smoothed(targets: Any, label_smoothing: float) -> Any:
    return (1 - label_smoothing) * targets + label_smoothing / targets.shape[-1]


@deviation("reference", "the_mean_is_over_rows")
def mean_over_the_weights(logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean divides by the weights of the targets, as it does for class ids.

    Shows: a weight and the mean. Hides: sums, weights of 1.
    """
    if weight is None or reduction != "mean":
        return soft_target_cross_entropy(logits, targets, weight, reduction=reduction, **options)
    total = soft_target_cross_entropy(logits, targets, weight, reduction="sum", **options)
    with np.errstate(all="ignore"):
        return total / np.sum(np.reshape(targets * weight, (-1,)), axis=0)


@deviation("reference", "reductions")
def mean_over_all_entries(logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean divides by the number of entries of the logits, as the mean of torch.nn.KLDivLoss does.

    Shows: the mean. Hides: sums, a single class.
    """
    loss = soft_target_cross_entropy(logits, targets, weight, reduction=reduction, **options)
    return loss / max(logits.shape[-1], 1) if reduction == "mean" else loss


@deviation("reference", "reductions")
def mean_is_the_sum(logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean is the sum: nothing is divided.

    Shows: two rows or more. Hides: a single row.
    """
    return soft_target_cross_entropy(logits, targets, weight, reduction={"mean": "sum"}.get(reduction, reduction), **options)


@deviation("reference", "uniform", "mixtures", kind="convention")
def divergence(logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any) -> Any:
    """the entropy of the targets is subtracted: the Kullback-Leibler divergence.

    Shows: targets with two classes or more. Hides: targets of one class.
    """
    entropy = -np.sum(targets * np.log(np.where(plain(targets) > 0, targets, 1.0)), axis=-1)
    loss = _row_losses(logits, targets, weight, **options) - np.reshape(entropy, (-1,))
    return _reduce(loss, logits.shape[:-1], reduction)


@deviation("reference", "one_class")
def targets_are_scores(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the targets go through softmax, as if they were the scores of a teacher.

    Shows: every target but equal ones. Hides: a vocabulary of one.
    """
    return soft_target_cross_entropy(logits, softmax(targets, axis=-1), weight, **options)


@deviation("reference", "mixtures")
def most_probable_class_alone(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the target is the most probable class alone.

    Shows: targets with two classes or more. Hides: targets of one class.
    """
    return soft_target_cross_entropy(
        logits, (np.arange(targets.shape[-1]) == np.argmax(plain(targets), axis=-1)[..., None]) * 1.0, weight, **options
    )


@deviation("reference", "smoothing_mixes_with_the_uniform_target")
def smoothing_ignored(logits: Any, targets: Any, weight: Any = None, *, label_smoothing: float = 0.0, **options: Any) -> Any:
    """nothing is smoothed, as if smoothing were for class ids alone.

    Shows: smoothing. Hides: no smoothing.
    """
    return soft_target_cross_entropy(logits, targets, weight, **options)


@deviation("reference", "smoothing_mixes_with_the_uniform_target", kind="convention")
def smoothing_over_the_other_classes(
    logits: Any, targets: Any, weight: Any = None, *, label_smoothing: float = 0.0, **options: Any
) -> Any:
    """the smoothed share goes to the other classes alone, e / (vocab − 1) each.

    Shows: smoothing. Hides: no smoothing, large vocabularies.
    """
    vocab = logits.shape[-1]
    share = label_smoothing * vocab / (vocab - 1) if vocab > 1 else label_smoothing
    return soft_target_cross_entropy(logits, targets, weight, label_smoothing=share, **options)


@deviation("reference")
def smoothed_entries_without_weights(
    logits: Any, targets: Any, weight: Any = None, *, label_smoothing: float = 0.0, reduction: str = "mean", **options: Any
) -> Any:
    """the smoothed term has no weights: they are applied to the targets before they are smoothed.

    Shows: a weight and smoothing. Hides: either alone.
    """
    own = _row_losses(logits, targets, weight) * (1 - label_smoothing)
    even = _row_losses(logits, targets, label_smoothing=1.0) * label_smoothing
    return _reduce(own + even, logits.shape[:-1], reduction)


@deviation("reference", "classes_have_their_own_weights")
def weight_ignored(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the weight of the classes is not used.

    Shows: a weight. Hides: none.
    """
    return soft_target_cross_entropy(logits, targets, **options)


@deviation("reference", "classes_have_their_own_weights")
def weight_of_the_most_probable_class(
    logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", **options: Any
) -> Any:
    """the whole loss of a row has the weight of its most probable class.

    Shows: a weight, and targets with two classes or more. Hides: either alone.
    """
    if weight is None:
        return soft_target_cross_entropy(logits, targets, reduction=reduction, **options)
    of_rows = np.take(weight, np.reshape(np.argmax(plain(targets), axis=-1), (-1,)))
    return _reduce(of_rows * _row_losses(logits, targets, **options), logits.shape[:-1], reduction)


@deviation("reference", "uniform")
def logarithm_to_base_two(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the loss is in bits, not in nats.

    Shows: any loss but 0. Hides: a vocabulary of one.
    """
    return soft_target_cross_entropy(logits, targets, weight, **options) / np.log(2.0)


@deviation("reference", kind="arithmetic")
def probabilities_clipped(
    logits: Any, targets: Any, weight: Any = None, *, label_smoothing: float = 0.0, reduction: str = "mean"
) -> Any:
    """the probabilities are at least 1e-7 before their logarithm, as Keras clips probabilities that are given.

    Shows: a target whose logit is 17 or more below the largest. Hides: others.
    """
    q = _smoothed(targets, label_smoothing) * (1.0 if weight is None else weight)
    loss = -np.sum(q * np.maximum(log_softmax(logits, axis=-1), np.log(1e-7)), axis=-1)
    return _reduce(np.reshape(loss, (-1,)), logits.shape[:-1], reduction)


@deviation("reference", kind="arithmetic")
def logarithm_of_the_probabilities(
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    held: Any = None,
) -> Any:
    """the logarithm is that of softmax: a probability of 0 gives an infinite loss, or NaN where its target is 0.

    Shows: logits far below the largest. Hides: ordinary logits.
    """
    held = held or (lambda x: x)
    q = _smoothed(targets, label_smoothing) * (1.0 if weight is None else weight)
    with np.errstate(all="ignore"):
        loss = -np.sum(q * np.log(held(softmax(logits, axis=-1))), axis=-1)
    return _reduce(np.reshape(loss, (-1,)), logits.shape[:-1], reduction)


@deviation("reference", "permutation")
def first_class_ignored(logits: Any, targets: Any, weight: Any = None, **options: Any) -> Any:
    """the probability of class 0 is taken for 0, as if it were padding.

    Shows: a target with class 0. Hides: others.
    """
    return soft_target_cross_entropy(logits, np.where(np.arange(targets.shape[-1]) == 0, 0.0, targets), weight, **options)


@deviation("reference", "shift", kind="arithmetic")
def no_maximum_subtracted(
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    held: Any = None,
) -> Any:
    """the maximum is not subtracted from the logits, so that their exponentials overflow.

    Shows: logits beyond the range of exp, in float32 from 89 on. Hides: ordinary logits.
    """
    held = held or (lambda x: x)
    q = _smoothed(targets, label_smoothing) * (1.0 if weight is None else weight)
    lse = np.log(np.sum(held(np.exp(logits)), axis=-1, keepdims=True))
    return _reduce(rows(np.sum(q * (lse - logits), axis=-1)[..., None])[..., 0], logits.shape[:-1], reduction)


@deviation("uniform", kind="arithmetic", dtypes=HALF)
def summed_in_half(
    logits: Any, targets: Any, weight: Any = None, *, reduction: str = "mean", held: Any = None, **options: Any
) -> Any:
    """the losses of the rows are summed in 16 bits.

    Shows: many rows. Hides: few, and reduction none.
    """
    if reduction == "none":
        return soft_target_cross_entropy(logits, targets, weight, reduction="none", **options)
    loss = held(_row_losses(logits, targets, weight, **options))
    total = loss[:1]
    for i in range(1, len(loss)):
        total = held(total + loss[i : i + 1])
    return total[0] if reduction == "sum" else total[0] / len(loss)
