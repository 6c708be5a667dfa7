from typing import Any

from ._marks import float64, logistic


def silu(x: Any) -> Any:
    """Sigmoid linear unit, also called Swish: each number times its own logistic function.

        y = x * sigmoid(x) = x / (1 + exp(-x))

    Shapes
        x (any shape)  ->  as x
    Dtypes
        as the arguments
    Domain
        x finite.
    Edges
        0 gives 0. silu(x) - silu(-x) = x. The least value is -0.27846 at -1.27846. Far to the left it tends
        to 0 from below, far to the right to x; at -inf the product is -inf * 0, NaN (see the level limits).
    Choices
        Swish with a factor, x * sigmoid(beta * x), has beta = 1 here.
    Source
        Hendrycks and Gimpel 2016, arXiv:1606.08415. Elfwing, Uchibe and Doya 2017, arXiv:1702.03118.
        CS336 assignment 1, eq. (5).

    The minimum, and the identity on the right:

    >>> silu([-1.278464543, 50.0]).round(8)
    array([-0.27846454, 50.        ])
    """
    x = float64(x)
    return x * logistic(x)
