"""What goes wrong with the gradient of logsumexp."""

from typing import Any

import numpy as np

from reference_numpy.softmax import softmax

from . import deviation


@deviation("reference", "sums_to_the_cotangent")
def cotangent_ignored(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the cotangent is treated as one: softmax(x).

    Shows: any other cotangent. Hides: that of a sum.
    """
    return (softmax(x, axis=axis),)


@deviation("reference", "is_softmax", "sums_to_the_cotangent")
def mean_of_exponentials(cotangent: Any, x: Any, *, axis: int) -> Any:
    """it is divided by the number of entries, as if the result were the logarithm of their mean.

    Shows: every row of two entries or more. Hides: a single entry.
    """
    return (np.expand_dims(cotangent, axis) * softmax(x, axis=axis) / x.shape[axis],)
