from typing import Any

import numpy as np

from ._marks import float64


def relu(x: Any) -> Any:
    """Rectifier: negative numbers become zero.

        y = max(x, 0)

    Shapes
        x (any shape)  ->  as x
    Dtypes
        as the arguments
    Domain
        All numbers.
    Edges
        Exact: each result is 0 or its own argument. NaN stays NaN.
    Choices
        The slope at 0, where there is none, is 0 in PyTorch and JAX.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, eq. 2. CS336 assignment 1, section 3.5.2.

    >>> relu([-2.0, -1e-300, 3.0])
    array([0., 0., 3.])
    """
    return np.maximum(float64(x), 0.0)
