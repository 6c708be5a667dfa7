from typing import Any

import numpy as np

from ._marks import float64
from ._sums import rows
from ._targets import counted_mean, is_kept, is_zero, summed_losses
from .logsumexp import logsumexp


def cross_entropy(
    logits: Any,
    targets: Any,
    weight: Any = None,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    reduction: str = "mean",
) -> Any:
    """Cross-entropy of softmax scores with target ids: the negative logarithm of the probability of each target.

        z = softcap * tanh(logits / softcap),   lse = logsumexp(z)
        l = (1 - e) w_target (lse - z_target) + e mean(w (lse - z)) + z_loss * lse^2,   e = label_smoothing

    Without weight, w = 1. A row whose target is ignore_index has l = 0. The mean divides by the sum of w_target over the
    other rows, which is their number without weight.

    Shapes
        logits (..., vocab),  targets (...) integers,  weight (vocab)  ->  () for mean and sum, (...) for none
    Dtypes
        as the arguments, or float32 or wider
    Units
        Nats.
    Domain
        logits finite, or -inf where no target is and nothing is smoothed; 0 <= targets < vocab, or ignore_index,
        which is any integer; weight finite and >= 0, and without z_loss; 0 <= label_smoothing <= 1; z_loss >= 0; softcap > 0.
    Edges
        A vocabulary of one gives 0, equal logits give log(vocab), both without z_loss. The sum of no rows is 0. The
        mean of no rows is 0 / 0, NaN here (the convention all_ignored), and so is the mean of rows whose targets all weigh 0.
        A row whose target weighs 0 does not count in the mean. The result is float32 or wider, or has the dtype of the logits.

    Raises
        ValueError where reduction is none of "mean", "sum" and "none", or where z_loss is given with a weight.
    Choices
        Smoothing takes the share e from the target and spreads it over all vocab entries, the target among them, as in
        PyTorch. Each of them has its own weight there, not that of the target. Ignored rows count in no term and not in the
        mean. Whether a weight multiplies z_loss is not agreed on, so that both together are left out.
    Source
        CS336 assignment 1, section 4.1. Szegedy et al. 2015, arXiv:1512.00567, section 7 (smoothing). de Brebisson and
        Vincent 2016, arXiv:1604.08859, and PaLM, arXiv:2204.02311, section 5 (z_loss). torch.nn.functional.cross_entropy
        (weight).

    Two rows with equal logits, one of which is ignored, and the same row smoothed between a right and a wrong entry:

    >>> cross_entropy([[0.0, 0.0], [5.0, 1.0]], [1, -100]).round(4)
    np.float64(0.6931)
    >>> cross_entropy([[0.0, 100.0]], [1], label_smoothing=0.5, reduction="none").round(4)
    array([25.])

    The mean of two rows, of which the second counts three times:

    >>> cross_entropy([[0.0, 0.0], [0.0, 9.0]], [0, 1], [1.0, 3.0]).round(4)
    np.float64(0.1734)
    """
    if weight is not None and not is_zero(z_loss):
        raise ValueError("cross_entropy: weight and z_loss are not defined together; leave one of them out.")
    z = rows(float64(logits))
    if softcap is not None:
        z = softcap * np.tanh(z / softcap)
    kept, ids = is_kept(targets, ignore_index)
    lse = logsumexp(z, axis=-1)
    loss = lse - z[np.arange(len(ids)), ids]
    w = None if weight is None else float64(weight)
    of_target = None if w is None else np.where(kept, w[ids], 0.0)
    if w is not None:
        loss = of_target * loss
    terms = None  # of a row whose loss is a sum
    if not is_zero(label_smoothing):
        own = (1 - label_smoothing) * loss
        even = lse - np.mean(z, axis=-1) if w is None else lse * np.mean(w, axis=-1) - np.mean(w * z, axis=-1)
        loss = own + label_smoothing * even
        spread = (lse[:, None] - z if w is None else w * (lse[:, None] - z)) / z.shape[-1]
        terms = np.concatenate([own[:, None], label_smoothing * spread], axis=-1)
    if not is_zero(z_loss):
        of_lse = z_loss * np.square(lse)
        loss = loss + of_lse
        terms = None if terms is None else np.concatenate([terms, of_lse[:, None]], axis=-1)
    loss = np.where(kept, loss, 0.0)
    if reduction == "none":
        return np.reshape(loss, np.shape(targets))
    if reduction == "sum":
        return summed_losses(loss, kept, terms)
    if reduction == "mean":
        return counted_mean(loss, kept, of_target, terms)
    raise ValueError(f"cross_entropy: reduction={reduction!r} is unknown; there are 'mean', 'sum' and 'none'.")
