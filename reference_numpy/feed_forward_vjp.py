from typing import Any

from ._marks import float64, rounded
from .gelu import gelu
from .gelu_vjp import gelu_vjp
from .linear import linear
from .linear_vjp import linear_vjp
from .relu import relu
from .relu_vjp import relu_vjp


def feed_forward_vjp(
    cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None, *, activation: str = "relu"
) -> Any:
    """Gradients of feed_forward: of y = w2 f(w1 x + b1) + b2, through linear_vjp, the slope of f, and linear_vjp again.

        dhidden = w2^T c,   dbefore = dhidden * f'(w1 x + b1),   dx = w1^T dbefore

    Shapes
        cotangent (..., d),  x (..., d),  w1 (h, d),  w2 (d, h),  b1 (h),  b2 (d)
        ->  (dx, dw1, dw2, db1, db2), each as its argument; None for a bias that is not given.
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        A unit of relu that is closed for every token gives its row of w1 and its b1 exactly 0.

    Raises
        ValueError where activation is neither "relu" nor "gelu".
    Choices
        Where a unit of relu is exactly at 0, or too near to tell, nothing is claimed.
    Source
        Differentiation of Vaswani et al. 2017, arXiv:1706.03762, eq. 2.

    >>> feed_forward_vjp([1.0], [2.0], [[1.0], [-1.0]], [[1.0, 1.0]])[:2]
    (array([1.]), array([[2.],
           [0.]]))
    """
    if activation not in ("relu", "gelu"):
        raise ValueError(f"feed_forward_vjp: activation={activation!r} is unknown; there are 'relu' and 'gelu'.")
    c, x = float64(cotangent), float64(x)
    before = rounded(linear(x, w1, b1))
    dhidden, dw2, db2 = linear_vjp(c, rounded(relu(before) if activation == "relu" else gelu(before)), w2, b2)
    (dbefore,) = relu_vjp(rounded(dhidden), before) if activation == "relu" else gelu_vjp(rounded(dhidden), before)
    dx, dw1, db1 = linear_vjp(rounded(dbefore), x, w1, b1)
    return dx, dw1, dw2, db1, db2
