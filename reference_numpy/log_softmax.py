from typing import Any

import numpy as np

from ._marks import exact, float64


def log_softmax(x: Any, *, axis: int) -> Any:
    """Logarithm of softmax, finite where softmax itself underflows to zero.

        y_i = x_i - m - log(sum_j(exp(x_j - m))),   m = max_j(x_j)

    Shapes
        x (any shape with at least one axis)  ->  as x
    Dtypes
        as the arguments
    Units
        Nats.
    Domain
        x < +inf, and at least one entry of each vector finite.
    Edges
        An entry of -inf gives -inf and changes no other. A vector of -inf alone gives NaN, an axis
        without entries an empty result.
    Choices
        The logarithm of softmax(x) is the same number only while softmax(x) does not underflow; x minus
        logsumexp(x) is the same number but loses digits when a large offset is common to all entries.
    Source
        The logarithm of CS336 assignment 1, eq. (10). Blanchard, Higham and Higham 2021, "Accurately computing
        the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41.

    The logarithm of a probability of e^-2000:

    >>> log_softmax([0.0, -2000.0], axis=0)
    array([    0., -2000.])
    """
    x = float64(x)
    shifted = x - exact(np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    with np.errstate(divide="ignore"):  # log(0) is that of the sum of no entries, which no entry of the result needs
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))
