"""What goes wrong with the gradient of silu."""

from typing import Any

import numpy as np

from reference_numpy._marks import logistic

from . import deviation


@deviation("reference")
def gate_taken_for_constant(cotangent: Any, x: Any) -> Any:
    """the gate is treated as a constant: c σ(x).

    Shows: ordinary x but 0. Hides: both tails, and 0.
    """
    return (cotangent * logistic(x),)


@deviation("reference", "half_at_zero", "opposite_slopes")
def gate_s_slope_alone(cotangent: Any, x: Any) -> Any:
    """only the gate is differentiated: c x σ(x) (1 − σ(x)).

    Shows: x ≥ 0. Hides: the lower tail.
    """
    s = logistic(x)
    return (cotangent * (x * s * (1 - s)),)


@deviation("reference")
def slope_of_the_sigmoid_of_the_result(cotangent: Any, x: Any) -> Any:
    """the sigmoid's slope is taken at the result: σ(x) + x σ(y) (1 − σ(y)).

    Shows: ordinary x but 0. Hides: both tails.
    """
    s = logistic(x)
    gate = logistic(x * s)
    return (cotangent * (s + x * (gate * (1 - gate))),)


@deviation("reference", kind="arithmetic")
def exponential_overflows(cotangent: Any, x: Any, *, held: Any) -> Any:
    """c (1 + x e^-x / (1 + e^-x)) / (1 + e^-x), which is −∞ or NaN where x e^-x overflows.

    Shows: x below −84 in float32, −703 in float64. Hides: larger numbers.
    """
    e = held(np.exp(-x))
    return (cotangent * ((1 / (1 + e)) * (1 + held(x * e) / (1 + e))),)
