from typing import Any

import numpy as np

from ._marks import float64, rounded, through_maximum
from .log_softmax import log_softmax


def log_softmax_vjp(cotangent: Any, x: Any, *, axis: int) -> Any:
    """Gradient of log_softmax: with the cotangent c of y = log_softmax(x),

        dx_i = c_i - exp(y_i) sum_j(c_j)

    Shapes
        cotangent as x,  x (any shape with at least one axis)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        As in log_softmax; cotangents finite.
    Edges
        Every dx sums to 0. With a one-hot cotangent it is the gradient of minus the cross-entropy.
    Choices
        exp(y) of the result as stored; softmax(x) is the same number. The maximum may be detached or not, as in softmax.
    Source
        Differentiation of the logarithm of CS336 assignment 1, eq. (10).

    >>> log_softmax_vjp([1.0, 0.0], [0.0, np.log(3.0)], axis=0)[0].round(4)
    array([ 0.75, -0.75])
    """
    c, x = float64(cotangent), float64(x)
    y = np.exp(rounded(log_softmax(x, axis=axis)))
    dx = c - y * np.sum(c, axis=axis, keepdims=True)
    return (through_maximum(dx, np.sum(dx, axis=axis, keepdims=True), x, axis=axis),)
