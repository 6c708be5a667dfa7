from typing import Any

import numpy as np

from ._marks import float64
from .rope import rope


def rope_vjp(cotangent: Any, x: Any, positions: Any, *, theta: float = 10000.0, layout: str = "interleaved") -> Any:
    """Gradient of rope: the cotangent turned back, by the opposite angle.

        dx = R(p)^T c = R(-p) c

    Shapes
        cotangent as x,  x (..., n, d_k),  positions (n) or broadcastable to (..., n)  ->  (dx, None), dx as x
    Domain
        As in rope; cotangents finite.
    Edges
        Does not depend on x. Lengths are kept. Positions have no gradient.

    Raises
        ValueError as rope does.
    Choices
        The same layout as forward: each pair turns back within itself.
    Source
        Su et al. 2021, arXiv:2104.09864, eq. 15: the matrix is orthogonal.

    >>> rope_vjp([[1.0, 0.0]], [[5.0, 7.0]], [1])[0].round(4)
    array([[ 0.5403, -0.8415]])
    """
    return rope(cotangent, np.negative(float64(positions)), theta=theta, layout=layout), None
