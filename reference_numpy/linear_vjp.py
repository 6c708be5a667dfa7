from typing import Any

import numpy as np

from ._marks import float64
from ._sums import rows, summed_to


def linear_vjp(cotangent: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Gradients of linear: with the cotangent c of y,

        dx_i = sum_o(c_o * weight_oi),   dweight_oi = sum_t(c_to * x_ti),   dbias_o = sum_t(c_to)

    where t runs over all tokens.

    Shapes
        cotangent (..., d_out),  x (..., d_in),  weight (d_out, d_in),  bias (d_out)
        ->  (dx, dweight, dbias), each as its argument; dbias is None without a bias.
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        dx does not depend on x, dweight not on weight, dbias on neither. No tokens: dweight and dbias are 0.
    Choices
        Gradients add up over every batch axis, in any order.
    Source
        The transpose of each of the three linear maps. Giles 2008, "Collected matrix derivative results for forward
        and reverse mode algorithmic differentiation", section 2.2.2.

    >>> linear_vjp([[1.0, 0.0], [0.0, 10.0]], [[5.0], [7.0]], [[2.0], [3.0]], [0.0, 0.0])
    (array([[ 2.],
           [30.]]), array([[ 5.],
           [70.]]), array([ 1., 10.]))
    """
    c, x, weight = float64(cotangent), float64(x), float64(weight)
    dweight = np.matmul(np.swapaxes(rows(c), 0, 1), rows(x))
    return np.matmul(c, weight), dweight, None if bias is None else summed_to(c, weight.shape[:1])
