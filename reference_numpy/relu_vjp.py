from typing import Any

from ._marks import float64, positive


def relu_vjp(cotangent: Any, x: Any) -> Any:
    """Gradient of relu: the cotangent passes where x is positive.

        dx = c   where x > 0,   0   where x < 0

    Shapes
        cotangent as x,  x (any shape)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        All numbers; cotangents finite.
    Edges
        Exact: each gradient is 0 or its own cotangent.
    Choices
        0 here at x = 0, as in PyTorch and JAX; any slope from 0 to 1 would do, and nothing is claimed.
    Source
        Differentiation of Vaswani et al. 2017, arXiv:1706.03762, eq. 2.

    >>> relu_vjp([5.0, 7.0], [-2.0, 3.0])
    (array([0., 7.]),)
    """
    return (float64(cotangent) * positive(float64(x)),)
