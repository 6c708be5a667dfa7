"""What goes wrong with sigmoid."""

from typing import Any

import numpy as np

from reference_numpy.sigmoid import sigmoid

from . import deviation


def clip(x: Any, low: float, high: float) -> Any:
    return -np.maximum(-np.maximum(x, low), -high)


@deviation("reference", "odds")
def hard(x: Any) -> Any:
    """straight lines replace the curve: x/6 + 1/2 between 0 and 1, the hard sigmoid.

    Shows: any numbers within ±10. Hides: 0, and those far away.
    """
    return clip(x / 6 + 0.5, 0.0, 1.0)


@deviation("reference", "hyperbolic_tangent")
def twice_as_steep(x: Any) -> Any:
    """the half is missing in (1 + tanh(x/2)) / 2: σ(2x).

    Shows: numbers of size 1. Hides: 0, and those far away.
    """
    return sigmoid(2 * x)


@deviation("reference", "increasing")
def decreasing(x: Any) -> Any:
    """the sign of the exponent is lost: 1 / (1 + e^x), which is σ(−x).

    Shows: anything but 0. Hides: 0.
    """
    return sigmoid(-x)


@deviation("reference", "half_at_zero")
def derivative(x: Any) -> Any:
    """the slope σ(1 − σ) is returned for the value.

    Shows: 0 and everything to its right. Hides: the far left, where the two agree.
    """
    return sigmoid(x) * sigmoid(-x)


@deviation("reference", "between_zero_and_one")
def tanh_by_a_fraction(x: Any) -> Any:
    """tanh(z) is approximated by z(27 + z²) / (27 + 9z²), and not limited to ±1.

    Shows: |x| > 3, and beyond 6 values outside of [0, 1]. Hides: small numbers.
    """
    z = x / 2
    square = np.square(z)
    return (1 + z * ((27 + square) / (27 + 9 * square))) / 2


@deviation("saturation", dtypes=("float64", "float32", "bfloat16"))
def argument_clipped(x: Any) -> Any:
    """x is clipped to ±20 against overflow.

    Shows: x < −20, where e^x is far from e^−20. Hides: everything between, float16, comparisons with a fixed tolerance.
    """
    return sigmoid(clip(x, -20.0, 20.0))


@deviation("saturation")
def result_clipped(x: Any) -> Any:
    """the result is kept 1e-7 away from 0 and 1, as losses do before a logarithm.

    Shows: x < −17. Hides: everything else, comparisons with a fixed tolerance.
    """
    return clip(sigmoid(x), 1e-7, 1 - 1e-7)


@deviation("no_overflow", "saturation", kind="arithmetic", seen=("https://github.com/clab/dynet/issues/1525",))
def exponential_overflows(x: Any, *, held: Any) -> Any:
    """e^x / (1 + e^x), which is ∞/∞ where e^x overflows.

    Shows: x > 88 in float32 and bfloat16, 11 in float16, 709 in float64. Hides: everything smaller.
    """
    e = held(np.exp(x))
    return held(e / held(1 + e))


@deviation("reference", "elementwise", kind="arithmetic")
def row_maximum_subtracted(x: Any, *, held: Any) -> Any:
    """the row's maximum is subtracted from x and from 0, as a softmax does: e^(x−m) / (e^(x−m) + e^−m).

    Shows: rows with one large number, where both exponentials vanish. Hides: rows of ordinary numbers.
    """
    largest = np.max(x, axis=-1, keepdims=True) if x.ndim else x
    e = held(np.exp(x - largest))
    return held(e / held(e + held(np.exp(-largest))))
