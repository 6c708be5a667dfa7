from typing import Any

import numpy as np

from ._marks import float64, rounded, through_maximum, through_quotient
from .softmax import softmax


def softmax_vjp(cotangent: Any, x: Any, *, axis: int) -> Any:
    """Gradient of softmax: with the cotangent c of y = softmax(x),

        dx_i = y_i c_i - y_i sum_j(c_j y_j)

    Shapes
        cotangent as x,  x (any shape with at least one axis)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        As in softmax; cotangents finite.
    Edges
        A constant cotangent gives 0, since probabilities sum to 1; every dx sums to 0. An entry of -inf has a
        gradient of exactly 0.
    Choices
        y may be the result as stored, in 16 bits too. y_i (1 - y_i) c_i alone, the diagonal of the Jacobian,
        misses the other entries. Of code that subtracts the maximum and does not detach it automatic differentiation
        subtracts the sum of all dx from that entry's: 0, but for the roundings.
    Source
        Differentiation of CS336 assignment 1, eq. (10).

    >>> softmax_vjp([1.0, 0.0], [0.0, np.log(3.0)], axis=0)[0].round(4)
    array([ 0.1875, -0.1875])
    """
    c, x = float64(cotangent), float64(x)
    y = rounded(softmax(x, axis=axis))
    dx = y * through_quotient(c) - y * through_quotient(np.sum(y * c, axis=axis, keepdims=True))
    return (through_maximum(dx, np.sum(dx, axis=axis, keepdims=True), x, axis=axis),)
