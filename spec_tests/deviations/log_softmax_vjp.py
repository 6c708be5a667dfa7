"""What goes wrong with the gradient of log_softmax: the cotangent's sum."""

from typing import Any

import numpy as np

from reference_numpy.log_softmax import log_softmax
from reference_numpy.softmax import softmax
from reference_numpy.softmax_vjp import softmax_vjp

from . import deviation


@deviation("reference", "sums_to_zero")
def sum_taken_for_one(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the cotangent is assumed to sum to one, as in a cross-entropy: c − y.

    Shows: any other cotangent. Hides: one-hot ones.
    """
    return (cotangent - softmax(x, axis=axis),)


@deviation("reference", "cross_entropy")
def gradient_of_softmax(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the formula is that of softmax: y (c − sum(c y)).

    Shows: every cotangent. Hides: a cotangent of zeros.
    """
    return softmax_vjp(cotangent, x, axis=axis)


@deviation("reference", "sums_to_zero")
def exponential_forgotten(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the logarithm is used in place of the probability: c − log_softmax(x) sum(c).

    Shows: cotangents that do not sum to zero. Hides: those that do.
    """
    return (cotangent - log_softmax(x, axis=axis) * np.sum(cotangent, axis=axis, keepdims=True),)
