from typing import Any

import numpy as np

from ._marks import exact, float64


def softmax(x: Any, *, axis: int) -> Any:
    """Normalized exponentials: a vector of scores becomes a probability distribution.

        y_i = exp(x_i - m) / sum_j(exp(x_j - m)),   m = max_j(x_j)

    Shapes
        x (any shape with at least one axis)  ->  as x
    Dtypes
        as the arguments
    Units
        Scores in nats in, probabilities out.
    Domain
        x < +inf, and at least one entry of each vector finite.
    Edges
        An entry of -inf gives exactly 0 and changes no other. One finite entry gives exactly one-hot. A vector
        of -inf alone has no softmax: NaN here. An axis without entries gives an empty result.
    Choices
        The shift m changes nothing but the range: without it exp overflows at 710 in float64, at 89 in
        float32 and at 12 in float16. The axis has no default (libraries use the last, or the second).
    Source
        CS336 assignment 1, eq. (10), with the shift that its text describes.

    Three scores that exp alone could not hold:

    >>> softmax([1000.0, 1001.0, 1002.0], axis=0).round(4)
    array([0.09  , 0.2447, 0.6652])
    """
    x = float64(x)
    e = np.exp(x - exact(np.max(x, axis=axis, keepdims=True, initial=-np.inf)))
    return e / np.sum(e, axis=axis, keepdims=True)
