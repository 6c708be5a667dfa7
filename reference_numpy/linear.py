from typing import Any

import numpy as np

from ._marks import float64, joined, rounded


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """Linear map of the last axis, with or without a bias.

        y_o = sum_i(weight_oi * x_i) + bias_o

    Shapes
        x (..., d_in),  weight (d_out, d_in),  bias (d_out)  ->  (..., d_out)
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        A weight of zeros gives exactly the bias, or zeros.
    Choices
        The weight is stored (out, in), as in PyTorch; Flax, Keras and the earlier edition of the CS336
        hand-out (x W) store (in, out). A bias is added to the product, which half-precision code may
        already have rounded.
    Source
        Vaswani et al. 2017, arXiv:1706.03762, section 3.3. CS336 assignment 1, the products in eqs. (6), (7), (14).

    The weight has one row for each output:

    >>> linear([1.0, 10.0], [[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], [0.0, 0.0, 5.0])
    array([21., 43.,  5.])
    """
    x = float64(x)
    y = np.matmul(x, np.swapaxes(float64(weight), -1, -2))
    return y if bias is None else joined(rounded(y), float64(bias), n=x.shape[-1])
