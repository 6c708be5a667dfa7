"""The targets of a loss: which rows count, and which entry of a row is the target."""

import math
from typing import Any

import numpy as np

from ._marks import either


def is_kept(targets: Any, ignore_index: int) -> tuple[Any, Any]:
    """Return which rows are not ignored, and the id of each row's target, 0 where it is ignored."""
    ids = np.ravel(np.asarray(targets))
    kept = ids != ignore_index
    return kept, np.where(kept, ids, 0)


def is_zero(x: Any) -> bool:
    """Whether a number, which may carry an error, is 0."""
    return bool(np.all(getattr(x, "value", x) == 0))


def summed_losses(loss: Any, kept: Any, terms: Any = None) -> Any:
    """Return the sum of the losses of all rows. Code may add the terms of all rows in one sum."""
    total = np.sum(loss, axis=0)
    if terms is None:
        return total
    return either(total, np.sum(np.reshape(np.where(kept[:, None], terms, 0.0), (math.prod(terms.shape),)), axis=0))


def counted_mean(loss: Any, kept: Any, of_target: Any = None, terms: Any = None) -> Any:
    """Return the sum of the losses over the number of rows that are kept, or over the sum of their targets' weights.

    It is NaN if there is none.
    """
    with np.errstate(all="ignore"):
        count = np.float64(np.sum(kept)) if of_target is None else np.sum(of_target, axis=0)
        return summed_losses(loss, kept, terms) / count
