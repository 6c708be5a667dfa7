from typing import Any

from ._marks import float64, returned, rounded
from .rms_norm_vjp import rms_norm_vjp


def add_rms_norm_vjp(cotangent: Any, x: Any, residual: Any, weight: Any, *, eps: float) -> Any:
    """Gradients of add_rms_norm: with the cotangents c of y and g of the sum s = x + residual,

        dx = dresidual = g + ds,   (ds, dweight) = rms_norm_vjp(c, s, weight)

    Shapes
        cotangent: c (..., d) or None, g (..., d) or None;  x (..., d),  residual (..., d),  weight (d)
        ->  (dx, dresidual, dweight), each as its argument
    Dtypes
        as the arguments
    Domain
        As in add_rms_norm, with no row of zeros where eps = 0; cotangents finite.
    Edges
        Without a cotangent of y the gradient of both summands is g, bit for bit, and that of the weight is 0.
        A result whose cotangent is None counts as one whose cotangent is 0.
    Choices
        Both summands have the same gradient.
    Source
        Differentiation of Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4.

    >>> dx, dresidual, dweight = add_rms_norm_vjp(([1.0, 0.0], [10.0, 10.0]), [1.0, 1.0], [2.0, 3.0], [1.0, 1.0], eps=0.0)
    >>> dx.round(4), dweight.round(4)
    (array([10.181 ,  9.8642]), array([0.8485, 0.    ]))
    """
    c, g = (None if part is None else float64(part) for part in cotangent)
    total, weight = float64(x) + float64(residual), float64(weight)
    if c is None:
        return g, g, 0.0 * weight
    ds, dweight = rms_norm_vjp(c, returned(total), weight, eps=eps)
    ds = ds if g is None else rounded(ds) + g
    return ds, ds, dweight
