from typing import Any

from ._marks import float64, rounded
from .linear import linear
from .linear_vjp import linear_vjp
from .sigmoid import sigmoid
from .sigmoid_vjp import sigmoid_vjp


def glu_vjp(cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """Gradients of glu: of y = gate * signal,   gate = sigmoid(w1 x + b1),   signal = w2 x + b2,

        dsignal = c * gate,   dgate = c * signal

    and on through sigmoid_vjp and linear_vjp; dx is the sum over both paths.

    Shapes
        cotangent (..., h),  x (..., d),  w1 (h, d),  w2 (h, d),  b1 (h),  b2 (h)
        ->  (dx, dw1, dw2, db1, db2), each as its argument; that of a bias is None without it
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        The signal's path is linear: where the gate is open the gradient passes whole.
    Source
        Dauphin et al. 2017, arXiv:1612.08083, eq. 3.

    >>> glu_vjp([4.0], [1.0], [[0.0]], [[3.0]])[:3]
    (array([6.]), array([[3.]]), array([[2.]]))
    """
    c, x = float64(cotangent), float64(x)
    before, signal = rounded(linear(x, w1, b1)), rounded(linear(x, w2, b2))
    (dbefore,) = sigmoid_vjp(rounded(c * signal), before)
    through_gate, dw1, db1 = linear_vjp(rounded(dbefore), x, w1, b1)
    through_signal, dw2, db2 = linear_vjp(rounded(c * rounded(sigmoid(before))), x, w2, b2)
    return rounded(through_gate) + rounded(through_signal), dw1, dw2, db1, db2
