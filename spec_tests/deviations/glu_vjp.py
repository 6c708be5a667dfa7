"""What goes wrong with the gradients of glu: its two paths."""

from typing import Any

from reference_numpy.glu_vjp import glu_vjp
from reference_numpy.linear import linear
from reference_numpy.linear_vjp import linear_vjp
from reference_numpy.sigmoid import sigmoid

from . import deviation


@deviation("reference", "half_open", "silent_signal")
def paths_exchanged(cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the gradients of w1 and w2 are exchanged.

    Shows: either of them. Hides: a test of dx alone.
    """
    dx, dw1, dw2, *biases = glu_vjp(cotangent, x, w1, w2, b1, b2)
    return dx, dw2, dw1, *biases


@deviation("reference")
def through_the_signal_alone(cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """dx comes through the signal alone, as if the gate were a constant.

    Shows: half-open gates. Hides: gates that are shut or open.
    """
    _, dw1, dw2, *biases = glu_vjp(cotangent, x, w1, w2, b1, b2)
    return linear_vjp(cotangent * sigmoid(linear(x, w1, b1)), x, w2)[0], dw1, dw2, *biases


@deviation("reference", "silent_signal")
def gate_without_the_signal(cotangent: Any, x: Any, w1: Any, w2: Any, b1: Any = None, b2: Any = None) -> Any:
    """the gate's gradient lacks the signal that it scaled.

    Shows: a signal other than 1. Hides: nothing else.
    """
    _, _, dw2, _, db2 = glu_vjp(cotangent, x, w1, w2, b1, b2)
    s = sigmoid(linear(x, w1, b1))
    through_gate, dw1, db1 = linear_vjp(cotangent * s * (1 - s), x, w1, b1)
    return through_gate + linear_vjp(cotangent * s, x, w2)[0], dw1, dw2, db1, db2
