from typing import Any

import numpy as np

from ._marks import exact, finite_or_zero, float64


def logsumexp(x: Any, *, axis: int) -> Any:
    """Logarithm of the sum of exponentials: a smooth maximum.

        y = m + log(sum_j(exp(x_j - m))),   m = max_j(x_j)

    Shapes
        x (any shape with at least one axis)  ->  x without that axis
    Dtypes
        as the arguments
    Units
        Nats.
    Domain
        x < +inf.
    Edges
        max(x) <= y <= max(x) + log(n). A vector of -inf alone gives -inf, the logarithm of an empty sum (the
        shift is 0 there, or the result would be NaN). So does an axis without entries.
    Choices
        The axis is dropped from the result, as by default in PyTorch, JAX and SciPy.
    Source
        The logarithm of the denominator of CS336 assignment 1, eq. (10). Blanchard, Higham and Higham 2021,
        "Accurately computing the log-sum-exp and softmax functions", IMA J. Numer. Anal. 41.

    Two equal terms add log(2), however large they are:

    >>> logsumexp([[1000.0, 1000.0], [-np.inf, -np.inf]], axis=1).round(4)
    array([1000.6931,      -inf])
    """
    x = float64(x)
    m = exact(finite_or_zero(np.max(x, axis=axis, keepdims=True, initial=-np.inf)))
    with np.errstate(divide="ignore"):  # log(0) = -inf is the answer for a vector of -inf
        return np.squeeze(m + np.log(np.sum(np.exp(x - m), axis=axis, keepdims=True)), axis=axis)
