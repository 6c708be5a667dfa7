"""What goes wrong with linear_cross_entropy: how the losses of chunks are put together."""

from typing import Any

import numpy as np

from reference_numpy._sums import rows
from reference_numpy.cross_entropy import cross_entropy
from reference_numpy.linear import linear
from reference_numpy.linear_cross_entropy import linear_cross_entropy

from . import deviation

CHUNK = 2  # tokens


def _chunks(x: Any, targets: Any) -> list[tuple[Any, Any]]:
    x, targets = rows(x), np.ravel(targets)
    return [(x[i : i + CHUNK], targets[i : i + CHUNK]) for i in range(0, max(len(targets), 1), CHUNK)]


@deviation("reference", "chunks", seen=("https://github.com/NVIDIA-NeMo/Automodel/pull/3804",))
def means_of_chunks_added(x: Any, weight: Any, targets: Any, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean is the sum of the means of chunks.

    Shows: more tokens than a chunk has. Hides: a single chunk.
    """
    if reduction != "mean":
        return linear_cross_entropy(x, weight, targets, reduction=reduction, **options)
    ignored = options.get("ignore_index", -100)
    means = [linear_cross_entropy(part, weight, ids, **options) for part, ids in _chunks(x, targets) if np.any(ids != ignored)]
    return sum(means[1:], start=means[0]) if means else linear_cross_entropy(x, weight, targets, **options)


@deviation("reference", "chunks")
def mean_of_means(x: Any, weight: Any, targets: Any, *, reduction: str = "mean", **options: Any) -> Any:
    """the mean is the mean of the chunks' means, however many rows each keeps.

    Shows: chunks that keep different numbers of rows. Hides: chunks of equal size without ignored rows.
    """
    if reduction != "mean":
        return linear_cross_entropy(x, weight, targets, reduction=reduction, **options)
    ignored = options.get("ignore_index", -100)
    means = [linear_cross_entropy(part, weight, ids, **options) for part, ids in _chunks(x, targets) if np.any(ids != ignored)]
    whole = linear_cross_entropy(x, weight, targets, **options)
    return sum(means[1:], start=means[0]) / len(means) if means else whole


@deviation("reference", "ignored_tokens_do_not_show", "all_ignored")
def ignored_tokens_counted(x: Any, weight: Any, targets: Any, *, ignore_index: int = -100, **options: Any) -> Any:
    """the target of an ignored token is the last entry.

    Shows: an ignored token. Hides: targets that are all kept.
    """
    ids = np.where(np.asarray(targets) == ignore_index, weight.shape[0] - 1, targets)
    return linear_cross_entropy(x, weight, ids, **options)


@deviation("reference", "order_of_the_vocabulary")
def last_block_of_the_vocabulary_left_out(x: Any, weight: Any, targets: Any, **options: Any) -> Any:
    """entries beyond the last multiple of eight are missing from the denominator: a loop over blocks has no remainder.

    Shows: more than eight entries, and not a multiple of eight. Hides: multiples of eight.
    """
    whole = weight.shape[0] // 8 * 8
    ignored = options.get("ignore_index", -100)
    if whole == 0 or np.any((np.asarray(targets) >= whole) & (np.asarray(targets) != ignored)):
        return linear_cross_entropy(x, weight, targets, **options)
    return cross_entropy(linear(x, weight[:whole]), targets, **options)


@deviation("reference", "composition")
def logits_over_root_d(x: Any, weight: Any, targets: Any, **options: Any) -> Any:
    """the logits are divided by √d.

    Shows: d other than 1. Hides: d = 1.
    """
    return cross_entropy(linear(x, weight) / np.sqrt(x.shape[-1]), targets, **options)
