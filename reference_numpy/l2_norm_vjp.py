from typing import Any

from ._recurrence import L2_EPS
from ._reverse_mode import vjp
from .l2_norm import l2_norm


def l2_norm_vjp(cotangent: Any, x: Any, *, eps: float = L2_EPS) -> Any:
    """Gradient of l2_norm: with the cotangent c of y, and r = 1 / sqrt(sum(x^2) + eps),

        dx_i = r (c_i - y_i sum_j(c_j y_j))

    Shapes
        cotangent (..., d),  x (..., d)  ->  (dx,), as x
    Dtypes
        as the arguments
    Domain
        As in l2_norm, with no row of zeros where eps = 0; cotangents finite.
    Edges
        At eps = 0 each dx is orthogonal to x, for scaling x changes nothing.
    Choices
        The chain rule, step by step, through the equation.
    Source
        Differentiation of l2norm of fla-org/flash-linear-attention.

    >>> l2_norm_vjp([[1.0, 0.0]], [[3.0, 4.0]], eps=0.0)[0].round(4)
    array([[ 0.128, -0.096]])
    """
    return vjp(l2_norm, cotangent, x, eps=eps)
