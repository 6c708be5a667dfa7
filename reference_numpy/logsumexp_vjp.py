from typing import Any

import numpy as np

from ._marks import float64, rounded, through_maximum
from .logsumexp import logsumexp


def logsumexp_vjp(cotangent: Any, x: Any, *, axis: int) -> Any:
    """Gradient of logsumexp: with the cotangent c of y = logsumexp(x),

        dx_i = c exp(x_i - y)

    Shapes
        cotangent as x without that axis,  x (any shape with at least one axis)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        As in logsumexp, with at least one entry of each vector finite; cotangents finite.
    Edges
        Every dx sums to c. An entry of -inf has a gradient of exactly 0.
    Choices
        The result as stored may be what is subtracted, as in PyTorch, so that the error grows with an offset
        common to the vector; c softmax(x) is the same number and has no such error. The maximum may be detached or not, as
        in softmax: what it gets then is c less the sum of all dx.
    Source
        Differentiation of the logarithm of the denominator of CS336 assignment 1, eq. (10).

    >>> logsumexp_vjp(2.0, [0.0, np.log(3.0)], axis=0)[0].round(4)
    array([0.5, 1.5])
    """
    c, x = float64(cotangent), float64(x)
    y = np.expand_dims(rounded(logsumexp(x, axis=axis)), axis)
    dx = np.expand_dims(c, axis) * np.exp(x - y)
    left = np.sum(dx, axis=axis, keepdims=True) - np.expand_dims(c, axis)
    return (through_maximum(dx, left, x, axis=axis),)
