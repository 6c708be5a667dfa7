from typing import Any

import numpy as np

from ._marks import float64
from ._sums import rows
from ._targets import counted_mean, is_zero, summed_losses
from .logsumexp import logsumexp


def soft_target_cross_entropy(
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """Cross-entropy of softmax scores with a probability of each class as the target.

        q = (1 - e) targets + e / vocab,   l = sum_i w_i q_i (logsumexp(logits) - logits_i),   e = label_smoothing

    Without weight, w = 1. The mean is over all rows, whatever their weights.

    Shapes
        logits (..., vocab),  targets (..., vocab),  weight (vocab)  ->  () for mean and sum, (...) for none
    Dtypes
        as the arguments, or float32 or wider
    Units
        Nats.
    Domain
        logits finite; targets >= 0, and those of each row have the sum 1; weight finite and >= 0; 0 <= label_smoothing <= 1;
        one row or more for the mean.
    Edges
        A target of one class alone gives cross_entropy of this class, without a weight or without the mean. The loss of
        targets = softmax(logits) is their entropy, the smallest there is. A vocabulary of one gives 0.

    Raises
        ValueError where reduction is none of "mean", "sum" and "none".
    Choices
        An operation of its own, and not targets of another dtype in cross_entropy, since other rules hold: no row is
        ignored, the weights are those of all classes and not of one, and the mean divides by the number of rows and not by
        their weights. That each row has the sum 1 lets code compute lse - sum_i q_i logits_i as well.
    Source
        torch.nn.functional.cross_entropy with class probabilities. Hinton et al. 2015, arXiv:1503.02531, section 2
        (distillation). Zhang et al. 2018, arXiv:1710.09412 (mixup).

    A row between two classes, and the same row if the second class counts three times:

    >>> soft_target_cross_entropy([[0.0, 0.0]], [[0.25, 0.75]]).round(4)
    np.float64(0.6931)
    >>> soft_target_cross_entropy([[0.0, 0.0]], [[0.25, 0.75]], [1.0, 3.0]).round(4)
    np.float64(1.7329)
    """
    logits = float64(logits)
    z, q, shape = rows(logits), rows(float64(targets)), logits.shape[:-1]
    if not is_zero(label_smoothing):
        q = (1 - label_smoothing) * q + label_smoothing / z.shape[-1]
    if weight is not None:
        q = float64(weight) * q
    terms, every = q * (logsumexp(z, axis=-1)[:, None] - z), np.full(z.shape[0], True)
    loss = np.sum(terms, axis=-1)
    if reduction == "none":
        return np.reshape(loss, shape)
    if reduction == "sum":
        return summed_losses(loss, every, terms)
    if reduction == "mean":
        return counted_mean(loss, every, terms=terms)
    raise ValueError(f"soft_target_cross_entropy: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
