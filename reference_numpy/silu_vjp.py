from typing import Any

from ._marks import float64, logistic


def silu_vjp(cotangent: Any, x: Any) -> Any:
    """Gradient of silu: with the cotangent c, and s = sigmoid(x),

        dx = c (s + x s (1 - s))

    Shapes
        cotangent as x,  x (any shape)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        x and cotangents finite.
    Edges
        c / 2 at 0. Between -1.2785, where silu is least, and 0 the slope is positive, left of it negative;
        the slopes at x and -x sum to 1.
    Choices
        The whole derivative: c s alone treats the gate as a constant.
    Source
        Differentiation of CS336 assignment 1, eq. (5).

    >>> silu_vjp([4.0, 8.0], [0.0, 30.0])[0].round(8)
    array([2., 8.])
    """
    c, x = float64(cotangent), float64(x)
    s = logistic(x)
    return (c * s + c * x * s * (1 - s),)
