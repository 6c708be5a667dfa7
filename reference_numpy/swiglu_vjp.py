from typing import Any

from ._marks import float64, rounded
from .linear import linear
from .linear_vjp import linear_vjp
from .silu import silu
from .silu_vjp import silu_vjp


def swiglu_vjp(cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None) -> Any:
    """Gradients of swiglu: of y = w2 (gate * signal) + b2,   gate = silu(w1 x + b1),   signal = w3 x + b3,

        dhidden = w2^T c,   dsignal = dhidden * gate,   dgate = dhidden * signal

    and on through silu_vjp and linear_vjp; dx is the sum over both paths.

    Shapes
        cotangent (..., d),  x (..., d),  w1 (h, d),  w2 (d, h),  w3 (h, d),  b1 (h),  b2 (d),  b3 (h)
        ->  (dx, dw1, dw2, dw3, db1, db2, db3), each as its argument; that of a bias is None without it
    Dtypes
        as the arguments
    Domain
        All finite.
    Edges
        w2 = 0: every gradient but dw2 and db2 is 0.
    Source
        Differentiation of Shazeer 2020, arXiv:2002.05202, eq. 6.

    With silu'(0) = 1/2, the gate at 0 and 3 for the signal:

    >>> swiglu_vjp([2.0], [1.0], [[0.0]], [[1.0]], [[3.0]])[:4]
    (array([0.]), array([[3.]]), array([[0.]]), array([[0.]]))
    """
    c, x = float64(cotangent), float64(x)
    before, signal = rounded(linear(x, w1, b1)), rounded(linear(x, w3, b3))
    gate = rounded(silu(before))
    dhidden, dw2, db2 = linear_vjp(c, rounded(gate * signal), w2, b2)
    dhidden = rounded(dhidden)
    (dbefore,) = silu_vjp(rounded(dhidden * signal), before)
    through_gate, dw1, db1 = linear_vjp(rounded(dbefore), x, w1, b1)
    through_signal, dw3, db3 = linear_vjp(rounded(dhidden * gate), x, w3, b3)
    return rounded(through_gate) + rounded(through_signal), dw1, dw2, dw3, db1, db2, db3
