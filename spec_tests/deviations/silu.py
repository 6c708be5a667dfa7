"""What goes wrong with silu."""

from typing import Any

import numpy as np

from reference_numpy.gelu import gelu
from reference_numpy.sigmoid import sigmoid

from . import deviation


@deviation("reference", "zero")
def gate_alone(x: Any) -> Any:
    """the factor x is missing: σ(x).

    Shows: anything but 1. Hides: nothing.
    """
    return sigmoid(x)


@deviation("reference", "minimum")
def steeper_gate(x: Any) -> Any:
    """the gate is σ(1.702 x), the approximation of gelu.

    Shows: numbers of size 1 to 10. Hides: those near 0 and far away.
    """
    return x * sigmoid(1.702 * x)


@deviation("reference", "minimum")
def gelu_for_silu(x: Any) -> Any:
    """gelu is computed.

    Shows: numbers of size 1 to 10. Hides: those near 0 and far away.
    """
    return gelu(x)


@deviation("reference", "slope_at_zero")
def hard(x: Any) -> Any:
    """straight lines replace the gate: x · min(max(x + 3, 0), 6) / 6, the hard swish.

    Shows: numbers within ±20. Hides: those far away.
    """
    return x * (-np.maximum(-np.maximum(x + 3, 0.0), -6.0) / 6)


@deviation("reference", "minimum")
def mish(x: Any) -> Any:
    """the gate is tanh(log(1 + e^x)), as mish has it.

    Shows: numbers within ±10. Hides: those far away.
    """
    return x * np.tanh(np.maximum(x, 0.0) + np.log(1 + np.exp(-np.abs(x))))


@deviation("reference", "elementwise")
def gate_of_the_neighbour(x: Any) -> Any:
    """each number is gated by the one before it in its row.

    Shows: any row of different numbers. Hides: constant rows, rows of one.
    """
    return x * sigmoid(np.roll(x, 1, -1)) if x.ndim else x * sigmoid(x)


@deviation("no_overflow", "far_away", kind="arithmetic")
def exponential_overflows(x: Any, *, held: Any) -> Any:
    """x e^x / (1 + e^x), which is ∞/∞ where e^x overflows.

    Shows: x > 88 in float32 and bfloat16, 11 in float16, 709 in float64. Hides: everything smaller.
    """
    e = held(np.exp(x))
    return held(held(x * e) / held(1 + e))


@deviation("far_away", dtypes=("float64", "float32", "bfloat16"))
def gate_is_never_shut(x: Any) -> Any:
    """the argument of the gate is clipped at −20, so that −1e10 gives −20 and not 0.

    Shows: large negative numbers. Hides: x > −20, float16.
    """
    return x * sigmoid(np.maximum(x, -20.0))


@deviation("relative_tail", kind="arithmetic")
def tail_by_cancellation(x: Any, *, held: Any) -> Any:
    """the gate is (1 + tanh(x/2)) / 2, which cancels to the left of 0.

    Shows: the relative error of the negative tail, which is a level. Hides: the absolute error, which is as it should be.
    """
    return held(x * (held(1 + held(np.tanh(x / 2))) / 2))
