from typing import Any

from ._marks import float64, rounded
from .sigmoid import sigmoid


def sigmoid_vjp(cotangent: Any, x: Any) -> Any:
    """Gradient of sigmoid: with the cotangent c of y = sigmoid(x),

        dx = c y (1 - y)

    Shapes
        cotangent as x,  x (any shape)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        All numbers; cotangents finite.
    Edges
        c / 4 at 0, the steepest slope; tends to 0 on both sides.
    Choices
        From y, the result as stored, so that the upper tail may vanish where y rounds to 1.
    Source
        Differentiation of the gate of CS336 assignment 1, eqs. (5) and (6).

    >>> sigmoid_vjp([8.0], [0.0])
    (array([2.]),)
    """
    c, y = float64(cotangent), rounded(sigmoid(x))
    return (c * y * (1 - y),)
