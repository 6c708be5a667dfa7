from typing import Any

import numpy as np

from ._marks import float64, rounded
from ._sums import summed_to


def layer_norm_vjp(cotangent: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """Gradients of layer_norm: with the cotangent c of y, and n = r (x - mean(x)),   r = 1 / sqrt(variance(x) + eps),

        dx_i = r (c_i weight_i - mean_j(c_j weight_j)) - r n_i mean_j(c_j weight_j n_j)
        dweight_i = sum_t(c_ti n_ti),   dbias_i = sum_t(c_ti)

    where t runs over all rows.

    Shapes
        cotangent (..., d),  x (..., d),  weight (d),  bias (d)  ->  (dx, dweight, dbias), each as its argument
    Dtypes
        as the arguments
    Domain
        As in layer_norm; cotangents finite.
    Edges
        Each dx sums to 0, for an offset changes nothing; at eps = 0 it is orthogonal to n as well.
    Choices
        Two means are subtracted, that of the cotangent and its projection on n: each once.
    Source
        Ba, Kiros and Hinton 2016, arXiv:1607.06450, eq. 4, differentiated. Xu et al. 2019, arXiv:1911.07013, section 3.

    >>> dx, dweight, dbias = layer_norm_vjp([[1.0, 0.0, 0.0]], [[-1.0, 0.0, 1.0]], np.ones(3), np.zeros(3), eps=0.0)
    >>> dx.round(4), dweight.round(4), dbias
    (array([[ 0.2041, -0.4082,  0.2041]]), array([-1.2247,  0.    ,  0.    ]), array([1., 0., 0.]))
    """
    c, x, weight, bias = float64(cotangent), float64(x), float64(weight), float64(bias)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    r = 1 / np.sqrt(np.mean(np.square(centred), axis=-1, keepdims=True) + eps)
    n, inner = rounded(centred * r), c * weight
    plain = rounded(r * inner) - rounded(r * np.mean(inner, axis=-1, keepdims=True))
    dx = plain - rounded(r * n * np.mean(inner * n, axis=-1, keepdims=True))
    return dx, summed_to(c * n, weight.shape), summed_to(c, bias.shape)
