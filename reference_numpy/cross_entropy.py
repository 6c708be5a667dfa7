from typing import Any

import numpy as np

from ._marks import float64
from ._sums import rows
from ._targets import counted_mean, is_kept, is_zero
from .logsumexp import logsumexp


def cross_entropy(
    logits: Any,
    targets: Any,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    reduction: str = "mean",
) -> Any:
    """Cross-entropy of softmax scores with target ids: the negative logarithm of the probability of each target.

        z = softcap * tanh(logits / softcap),   lse = logsumexp(z)
        l = (1 - e) (lse - z_target) + e (lse - mean(z)) + z_loss * lse^2,   e = label_smoothing

    A row whose target is ignore_index has l = 0. The mean divides by the number of the other rows.

    Shapes
        logits (..., vocab),  targets (...) integers  ->  () for mean and sum, (...) for none
    Dtypes
        as the arguments, or float32 or wider
    Units
        Nats.
    Domain
        logits finite, or -inf where no target is and nothing is smoothed; 0 <= targets < vocab, or ignore_index,
        which is any integer; 0 <= label_smoothing <= 1; z_loss >= 0; softcap > 0.
    Edges
        A vocabulary of one gives 0, equal logits give log(vocab), both without z_loss. The sum of no rows is 0. The
        mean of no rows is 0 / 0, NaN here (the convention all_ignored). The result is float32 or wider, or has the
        dtype of the logits.

    Raises
        ValueError where reduction is none of "mean", "sum" and "none".
    Choices
        Smoothing takes the share e from the target and spreads it over all vocab entries, the target among them, as in
        PyTorch. Ignored rows count in no term and not in the mean.
    Source
        CS336 assignment 1, section 4.1. Szegedy et al. 2015, arXiv:1512.00567, section 7 (smoothing). de Brebisson and
        Vincent 2016, arXiv:1604.08859, and PaLM, arXiv:2204.02311, section 5 (z_loss).

    Two rows with equal logits, one of which is ignored, and the same row smoothed between a right and a wrong entry:

    >>> cross_entropy([[0.0, 0.0], [5.0, 1.0]], [1, -100]).round(4)
    np.float64(0.6931)
    >>> cross_entropy([[0.0, 100.0]], [1], label_smoothing=0.5, reduction="none").round(4)
    array([25.])
    """
    z = rows(float64(logits))
    if softcap is not None:
        z = softcap * np.tanh(z / softcap)
    kept, ids = is_kept(targets, ignore_index)
    lse = logsumexp(z, axis=-1)
    loss = lse - z[np.arange(len(ids)), ids]
    if not is_zero(label_smoothing):
        loss = (1 - label_smoothing) * loss + label_smoothing * (lse - np.mean(z, axis=-1))
    if not is_zero(z_loss):
        loss = loss + z_loss * np.square(lse)
    loss = np.where(kept, loss, 0.0)
    if reduction == "none":
        return np.reshape(loss, np.shape(targets))
    if reduction == "sum":
        return np.sum(loss, axis=0)
    if reduction == "mean":
        return counted_mean(loss, kept)
    raise ValueError(f"cross_entropy: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
