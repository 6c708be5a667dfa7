from typing import Any

from ._marks import float64, rounded
from .linear import linear
from .sigmoid import sigmoid


def glu(x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """Gated linear unit: a linear map whose outputs are scaled by gates between 0 and 1.

        y = sigmoid(w1 x + b1) * (w2 x + b2)

    Shapes
        x (..., d),  w1 (h, d),  w2 (h, d),  b1 (h),  b2 (h)  ->  (..., h)
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        Without biases w2 = 0 gives zeros, w1 = 0 leaves every gate half open, y = w2 x / 2, and y is linear in w2.
    Choices
        The gate is the first weight. torch.nn.functional.glu splits one array in halves and gates the first
        half by the second. Each bias may be given alone.
    Source
        Dauphin et al. 2017, arXiv:1612.08083, eq. 1. CS336 assignment 1, eq. (6).

    A closed, a half-open and an open gate on the same signal:

    >>> glu([1.0], [[-100.0], [0.0], [100.0]], [[3.0], [3.0], [3.0]]).round(6)
    array([0. , 1.5, 3. ])
    """
    x = float64(x)
    return rounded(sigmoid(rounded(linear(x, w1, b1)))) * rounded(linear(x, w2, b2))
