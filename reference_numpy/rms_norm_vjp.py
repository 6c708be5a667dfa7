from typing import Any

import numpy as np

from ._marks import float64, rounded
from ._sums import summed_to


def rms_norm_vjp(cotangent: Any, x: Any, weight: Any, *, eps: float) -> Any:
    """Gradients of rms_norm: with the cotangent c of y, and n = r x,   r = 1 / sqrt(mean(x^2) + eps),

        dx_i = r c_i weight_i - r n_i mean_j(c_j weight_j n_j),   dweight_i = sum_t(c_ti n_ti)

    where t runs over all rows.

    Shapes
        cotangent (..., d),  x (..., d),  weight (d)  ->  (dx, dweight), each as its argument
    Dtypes
        as the arguments
    Domain
        As in rms_norm, with no row of zeros where eps = 0; cotangents finite.
    Edges
        At eps = 0 each dx is orthogonal to x, for scaling x changes nothing.
    Choices
        The second term is what becomes of the statistic; without it the gradient is right only up to a
        projection, and often passes for right.
    Source
        Zhang and Sennrich 2019, arXiv:1910.07467, section 4 and appendix. CS336 assignment 1, eq. (4).

    >>> dx, dweight = rms_norm_vjp([[1.0, 0.0]], [[3.0, 4.0]], [1.0, 1.0], eps=0.0)
    >>> dx.round(4), dweight.round(4)
    (array([[ 0.181 , -0.1358]]), array([0.8485, 0.    ]))
    """
    c, x, weight = float64(cotangent), float64(x), float64(weight)
    r = 1 / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)
    n, inner = rounded(x * r), c * weight
    dx = rounded(r * inner) - rounded(r * n * np.mean(inner * n, axis=-1, keepdims=True))
    return dx, summed_to(c * n, weight.shape)
