"""What goes wrong with the gradients of swiglu: its two paths, and the gate's slope."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic
from reference_numpy.linear import linear
from reference_numpy.linear_vjp import linear_vjp
from reference_numpy.silu import silu
from reference_numpy.silu_vjp import silu_vjp
from reference_numpy.swiglu_vjp import swiglu_vjp

from . import deviation


@deviation("reference", "shut_gate")
def gate_and_up_exchanged(
    cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """the gradients of w1 and w3 are exchanged.

    Shows: either of them. Hides: a test of dx alone.
    """
    dx, dw1, dw2, dw3, *biases = swiglu_vjp(cotangent, x, w1, w2, w3, b1, b2, b3)
    return dx, dw3, dw2, dw1, *biases


@deviation("reference")
def gate_s_slope_is_its_sigmoid(
    cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """the slope of SiLU is replaced by its sigmoid.

    Shows: ordinary gates. Hides: gates at 0 and far away.
    """
    _, _, dw2, dw3, _, db2, db3 = swiglu_vjp(cotangent, x, w1, w2, w3, b1, b2, b3)
    before, signal, dhidden = linear(x, w1, b1), linear(x, w3, b3), linear_vjp(cotangent, linear(x, w1), w2)[0]
    through_gate, dw1, db1 = linear_vjp(dhidden * signal * logistic(before), x, w1, b1)
    return through_gate + linear_vjp(dhidden * silu(before), x, w3)[0], dw1, dw2, dw3, db1, db2, db3


@deviation("reference")
def through_the_gate_alone(
    cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """dx comes through the gate alone: the second product overwrites what it should be added to.

    Shows: every ordinary input. Hides: a shut gate.
    """
    _, *others = swiglu_vjp(cotangent, x, w1, w2, w3, b1, b2, b3)
    before, signal, dhidden = linear(x, w1, b1), linear(x, w3, b3), linear_vjp(cotangent, linear(x, w1), w2)[0]
    return linear_vjp(silu_vjp(dhidden * signal, before)[0], x, w1)[0], *others


@deviation("reference", "shut_gate")
def output_weight_s_gradient_before_the_gate(
    cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """w2's gradient is taken from the signal, before it is gated.

    Shows: every ordinary gate. Hides: gates of 1.
    """
    dx, dw1, _, dw3, *biases = swiglu_vjp(cotangent, x, w1, w2, w3, b1, b2, b3)
    return dx, dw1, linear_vjp(cotangent, linear(x, w3, b3), w2)[1], dw3, *biases


@deviation("reference", "biases_gain_what_is_summed")
def bias_gradients_averaged(
    cotangent: Any, x: Any, w1: Any, w2: Any, w3: Any, b1: Any = None, b2: Any = None, b3: Any = None
) -> Any:
    """the gradients of biases are means over the tokens, not sums.

    Shows: a bias and two tokens or more. Hides: one token.
    """
    *weights, db1, db2, db3 = swiglu_vjp(cotangent, x, w1, w2, w3, b1, b2, b3)
    count = float(max(np.prod(x.shape[:-1]), 1))
    return *weights, *(d if d is None else d / count for d in (db1, db2, db3))
