from typing import Any

from ._marks import float64, logistic


def sigmoid(x: Any) -> Any:
    """Logistic function, from 0 to 1.

        y = 1 / (1 + exp(-x))

    Shapes
        x (any shape)  ->  as x
    Dtypes
        as the arguments
    Domain
        All numbers, +inf and -inf included.
    Edges
        sigmoid(0) = 1/2; sigmoid(x) + sigmoid(-x) = 1. Towards -inf it is exp(x), small but not zero, with all
        its digits; towards +inf it rounds to 1.
    Choices
        (1 + tanh(x / 2)) / 2 is the same number, but loses the lower tail to cancellation.
    Source
        The gate of CS336 assignment 1, eqs. (5) and (6).

    The lower tail keeps its digits:

    >>> sigmoid([-700.0, 0.0, 700.0])
    array([9.85967654e-305, 5.00000000e-001, 1.00000000e+000])
    """
    return logistic(float64(x))
