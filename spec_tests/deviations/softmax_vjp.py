"""What goes wrong with the gradient of softmax: the sum over the other entries."""

from typing import Any

import numpy as np

from reference_numpy.softmax import softmax
from reference_numpy.softmax_vjp import softmax_vjp

from . import deviation
from ._steps import exact_maximum


@deviation("reference", "constant_cotangent", "sums_to_zero")
def diagonal_only(cotangent: Any, x: Any, *, axis: int) -> Any:
    """only the diagonal of the Jacobian is used: y (1 − y) c, as if each entry were a sigmoid.

    Shows: short rows. Hides: long flat rows, whose other terms are of the order 1/n, and one-hot results.
    """
    y = softmax(x, axis=axis)
    return (y * (1 - y) * cotangent,)


@deviation("reference", "constant_cotangent", "sums_to_zero")
def sum_dropped(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the sum over the row is left out: y c.

    Shows: cotangents that do not average to zero. Hides: random ones over many entries.
    """
    return (softmax(x, axis=axis) * cotangent,)


@deviation("reference", "sums_to_zero")
def plain_mean_of_the_cotangent(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the mean of the cotangent is subtracted, not its mean under y: y (c − mean(c)).

    Shows: rows that are not flat. Hides: constant rows, constant cotangents.
    """
    return (softmax(x, axis=axis) * (cotangent - np.mean(cotangent, axis=axis, keepdims=True)),)


@deviation("reference")
def gradient_of_log_softmax(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the formula is that of log_softmax: c − y sum(c).

    Shows: every ordinary cotangent. Hides: a cotangent of zeros.
    """
    return (cotangent - softmax(x, axis=axis) * np.sum(cotangent, axis=axis, keepdims=True),)


@deviation("reference")
def last_axis(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the sum runs over the last axis, whatever axis is given.

    Shows: another axis. Hides: axis = −1.
    """
    y = softmax(x, axis=axis)
    return (y * cotangent - y * np.sum(y * cotangent, axis=-1, keepdims=True),)


@deviation("reference")
def softmax_of_the_result(cotangent: Any, x: Any, *, axis: int) -> Any:
    """the softmax is taken once more, of the result that was saved.

    Shows: every row with two entries that differ. Hides: constant rows.
    """
    return softmax_vjp(cotangent, softmax(x, axis=axis), axis=axis)


@deviation("reference", "constant_cotangent", kind="arithmetic", dtypes=("float16",))
def square_of_the_sum_overflows(cotangent: Any, x: Any, *, axis: int, held: Any) -> Any:
    """the exponentials' quotient by their sum is differentiated with the sum's square, which overflows: y c is left.

    Shows: float16 rows whose exponentials add up to 256 and more. Hides: shorter or peaked rows, bfloat16.
    """
    e = np.exp(x - exact_maximum(x, axis))
    total = np.sum(e, axis=axis, keepdims=True)
    others = np.sum(cotangent * e, axis=axis, keepdims=True) / held(np.square(total))
    return (e * (cotangent / total - others),)
