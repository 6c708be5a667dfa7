"""What goes wrong with cross_entropy: which rows count, what smoothing spreads, and what the reductions divide by."""

from typing import Any

import numpy as np

from reference_numpy._marks import float64
from reference_numpy._sums import rows
from reference_numpy._targets import counted_mean, is_kept
from reference_numpy.cross_entropy import cross_entropy
from reference_numpy.logsumexp import logsumexp

from . import HALF, deviation


def _reduce(loss: Any, targets: Any, kept: Any, reduction: str, weight: Any = None) -> Any:
    """Return the reduced losses. The mean divides by the number of rows that are kept, or by the sum of their weights."""
    if reduction == "none":
        return np.reshape(loss, np.shape(targets))
    return np.sum(loss, axis=0) if reduction == "sum" else counted_mean(loss, kept, _weights_of_targets(targets, kept, weight))


def _weights_of_targets(targets: Any, kept: Any, weight: Any) -> Any:
    """Return the weight of each row's target, 0 for an ignored row; None without weight."""
    if weight is None:
        return None
    return np.where(kept, float64(weight)[np.where(kept, np.ravel(np.asarray(targets)), 0)], 0.0)


def _row_losses(logits: Any, targets: Any, **options: Any) -> Any:
    return rows(cross_entropy(logits, targets, **{**options, "reduction": "none"})[..., None])[..., 0]


@deviation("reference", "ignored_rows_might_be_absent", "reductions")
def mean_over_all_rows(logits: Any, targets: Any, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean divides by the number of all rows, the ignored ones included.

    Shows: an ignored row and the mean. Hides: sums, and targets that are all kept.
    """
    if reduction != "mean":
        return cross_entropy(logits, targets, reduction=reduction, **options)
    return cross_entropy(logits, targets, reduction="sum", **options) / max(np.size(targets), 1)


@deviation("reference", "reductions")
def mean_is_the_sum(logits: Any, targets: Any, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean is the sum: nothing is divided.

    Shows: two rows or more. Hides: a single row.
    """
    return cross_entropy(logits, targets, reduction={"mean": "sum"}.get(reduction, reduction), **options)


@deviation("reference", "reductions")
def sum_is_the_mean(logits: Any, targets: Any, *, reduction: str = "mean", **options: Any) -> Any:
    """the sum is divided like the mean.

    Shows: the sum of two rows or more. Hides: a single row, the mean.
    """
    return cross_entropy(logits, targets, reduction={"sum": "mean"}.get(reduction, reduction), **options)


@deviation("reference", "ignored_rows_are_zero")
def ignored_rows_counted(logits: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """ignore_index is ignored: the target of such a row is the last entry, or its own.

    Shows: an ignored row. Hides: targets that are all kept.
    """
    ids = np.where(np.asarray(targets) < 0, logits.shape[-1] - 1, targets)
    return cross_entropy(logits, ids, **options)


@deviation("reference", "ignored_rows_are_zero")
def ignore_index_is_minus_100(logits: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """the rows that are ignored have the target −100 or another negative one, whatever ignore_index is.

    Shows: an ignore_index that is an entry of the vocabulary. Hides: negative ones.
    """
    return cross_entropy(logits, np.where(np.asarray(targets) < 0, -100, targets), **options)


@deviation("reference", "log_softmax")
def first_entry_ignored(logits: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """rows whose target is 0 are ignored as padding, too.

    Shows: a target of 0. Hides: other targets.
    """
    ids = np.where((np.asarray(targets) == 0) | (np.asarray(targets) == ignore_index), -100, targets)
    kept = ids != -100
    if not np.any(kept):
        return cross_entropy(logits, targets, ignore_index=ignore_index, **options)
    return cross_entropy(logits, ids, **options)


@deviation("reference", "even_smoothing_ignores_targets", kind="convention")
def smoothing_without_the_target(
    logits: Any, targets: Any, *, ignore_index: int = -100, label_smoothing: float = 0.0, **options: Any
) -> Any:
    """the smoothed share goes to the other entries alone, e / (vocab − 1) each.

    Shows: smoothing. Hides: no smoothing, large vocabularies.
    """
    vocab = logits.shape[-1]
    share = label_smoothing * (vocab / (vocab - 1)) if vocab > 1 else label_smoothing
    return cross_entropy(logits, targets, ignore_index=ignore_index, label_smoothing=share, **options)


@deviation("reference", "even_smoothing_ignores_targets")
def smoothing_ignored(logits: Any, targets: Any, *, label_smoothing: float = 0.0, **options: Any) -> Any:
    """nothing is smoothed.

    Shows: smoothing. Hides: no smoothing.
    """
    return cross_entropy(logits, targets, **options)


@deviation("reference", "even_smoothing_ignores_targets")
def target_keeps_its_share(logits: Any, targets: Any, *, label_smoothing: float = 0.0, **options: Any) -> Any:
    """the smoothed term is added, but the target's own term keeps its size.

    Shows: smoothing. Hides: no smoothing.
    """
    plain, even = (cross_entropy(logits, targets, label_smoothing=e, **options) for e in (0.0, 1.0))
    return plain + label_smoothing * even


@deviation("reference", "smoothing_is_linear")
def smoothing_squared(logits: Any, targets: Any, *, label_smoothing: float = 0.0, **options: Any) -> Any:
    """the smoothed share is e², as if both the target and the loss were smoothed.

    Shows: smoothing between 0 and 1. Hides: 0 and 1.
    """
    return cross_entropy(logits, targets, label_smoothing=label_smoothing * label_smoothing, **options)


@deviation("reference", "ignored_rows_are_zero", seen=("https://github.com/pytorch/pytorch/issues/73205",))
def smoothing_counts_ignored_rows(
    logits: Any, targets: Any, *, ignore_index: int = -100, label_smoothing: float = 0.0, reduction: str = "mean", **options: Any
) -> Any:
    """ignored rows get the smoothed term, too.

    Shows: smoothing and an ignored row. Hides: either alone.
    """
    kept, ids = is_kept(targets, ignore_index)
    own = _row_losses(logits, ids, label_smoothing=label_smoothing, **options)
    plain = {name: options.get(name) for name in ("softcap", "weight")}
    even = _row_losses(logits, ids, label_smoothing=1.0, **plain) * label_smoothing
    return _reduce(np.where(kept, own, even), targets, kept, reduction, options.get("weight"))


@deviation("reference", "z_loss")
def z_loss_not_squared(
    logits: Any, targets: Any, *, ignore_index: int = -100, z_loss: float = 0.0, reduction: str = "mean", **options: Any
) -> Any:
    """z_loss multiplies logsumexp, not its square.

    Shows: a z_loss. Hides: none.
    """
    kept, ids = is_kept(targets, ignore_index)
    z, softcap = rows(logits), options.get("softcap")
    lse = logsumexp(z if softcap is None else softcap * np.tanh(z / softcap), axis=-1)
    loss = np.where(kept, _row_losses(logits, ids, **options) + z_loss * lse, 0.0)
    return _reduce(loss, targets, kept, reduction, options.get("weight"))


@deviation("reference", "z_loss")
def z_loss_ignored(logits: Any, targets: Any, *, z_loss: float = 0.0, **options: Any) -> Any:
    """no z_loss is added.

    Shows: a z_loss. Hides: none.
    """
    return cross_entropy(logits, targets, **options)


@deviation("reference", "ignored_rows_are_zero")
def z_loss_of_ignored_rows(
    logits: Any, targets: Any, *, ignore_index: int = -100, z_loss: float = 0.0, reduction: str = "mean", **options: Any
) -> Any:
    """z_loss is added for ignored rows, too.

    Shows: a z_loss and an ignored row. Hides: either alone.
    """
    kept, ids = is_kept(targets, ignore_index)
    own, plain = (_row_losses(logits, ids, z_loss=amount, **options) for amount in (z_loss, 0.0))
    return _reduce(np.where(kept, own, own - plain), targets, kept, reduction, options.get("weight"))


@deviation("reference", "softcap")
def softcap_ignored(logits: Any, targets: Any, *, softcap: float | None = None, **options: Any) -> Any:
    """the logits are not capped.

    Shows: logits near the softcap or beyond. Hides: small ones.
    """
    return cross_entropy(logits, targets, **options)


@deviation("reference", "softcap")
def softcap_not_multiplied_back(logits: Any, targets: Any, *, softcap: float | None = None, **options: Any) -> Any:
    """the capped logits are tanh(z / c), without the factor c.

    Shows: a softcap other than 1. Hides: a softcap of 1.
    """
    return cross_entropy(logits if softcap is None else np.tanh(logits / softcap), targets, **options)


@deviation("reference", "log_softmax")
def next_entry_for_the_target(logits: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """the target is the entry after its own: the ids are shifted once more.

    Shows: two entries or more. Hides: a vocabulary of one.
    """
    targets = np.asarray(targets)
    shifted = np.where(targets == ignore_index, -100, (targets + 1) % logits.shape[-1])
    return cross_entropy(logits, shifted, **options)


@deviation("reference", "uniform")
def logarithm_to_base_two(logits: Any, targets: Any, *, z_loss: float = 0.0, **options: Any) -> Any:
    """the loss is in bits, not in nats.

    Shows: any loss but 0. Hides: a vocabulary of one.
    """
    plain = cross_entropy(logits, targets, **options)
    z_part = cross_entropy(logits, targets, z_loss=z_loss, **options) - plain
    return plain / np.log(2.0) + z_part


@deviation("reference", "shift", kind="arithmetic")
def no_maximum_subtracted(
    logits: Any,
    targets: Any,
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    z_loss: float = 0.0,
    softcap: float | None = None,
    reduction: str = "mean",
    held: Any = None,
) -> Any:
    """the maximum is not subtracted from the logits, so that their exponentials overflow.

    Shows: logits beyond the range of exp, in float32 from 89 on. Hides: ordinary logits.
    """
    held = held or (lambda x: x)
    z = rows(logits)
    z = z if softcap is None else softcap * np.tanh(z / softcap)
    kept, ids = is_kept(targets, ignore_index)
    lse = np.log(np.sum(held(np.exp(z)), axis=-1))
    loss = (1 - label_smoothing) * (lse - z[np.arange(len(ids)), ids]) + label_smoothing * (lse - np.mean(z, axis=-1))
    return _reduce(np.where(kept, loss + z_loss * np.square(lse), 0.0), targets, kept, reduction)


@deviation("uniform", kind="arithmetic", dtypes=HALF)
def summed_in_half(logits: Any, targets: Any, *, reduction: str = "mean", held: Any = None, **options: Any) -> Any:
    """the losses of the rows are summed in 16 bits.

    Shows: many rows. Hides: few, and reduction none.
    """
    if reduction == "none":
        return cross_entropy(logits, targets, reduction="none", **options)
    loss = held(np.reshape(cross_entropy(logits, targets, reduction="none", **options), (-1,)))
    total = loss[:1] if len(loss) else np.zeros(1)
    for i in range(1, len(loss)):
        total = held(total + loss[i : i + 1])
    kept, _ = is_kept(targets, options.get("ignore_index", -100))
    return total[0] if reduction == "sum" else _reduce(total, targets, kept, "mean", options.get("weight"))
