"""What goes wrong with relu."""

from typing import Any

import numpy as np

from reference_numpy.relu import relu

from . import deviation


@deviation("reference", "rectifies")
def leaky(x: Any) -> Any:
    """negative numbers are multiplied by 0.01, as a leaky rectifier does.

    Shows: negative numbers, their scale being free. Hides: positive ones, coarse absolute comparisons.
    """
    return np.maximum(x, 0.01 * x)


@deviation("reference", "rectifies")
def capped_at_six(x: Any) -> Any:
    """the result is capped at 6, as relu6 does.

    Shows: numbers above 6. Hides: standard normal ones.
    """
    return -np.maximum(-relu(x), -6.0)


@deviation("reference", "odd_and_even_parts")
def absolute_value(x: Any) -> Any:
    """the sign is dropped: |x|.

    Shows: negative numbers. Hides: positive ones.
    """
    return np.abs(x)


@deviation("reference", "homogeneous")
def squared(x: Any) -> Any:
    """the rectified number is squared, as some newer networks do.

    Shows: anything but 0 and 1. Hides: one-hot rows.
    """
    return np.square(relu(x))


@deviation("reference", "idempotent")
def softplus(x: Any) -> Any:
    """the smooth softplus, log(1 + e^x), replaces the rectifier.

    Shows: numbers near 0. Hides: those far from it on either side.
    """
    return relu(x) + np.log(1 + np.exp(-np.abs(x)))


@deviation("reference", "rectifies")
def exponential_on_the_left(x: Any) -> Any:
    """negative numbers give e^x − 1, as elu does.

    Shows: negative numbers. Hides: positive ones.
    """
    return relu(x) + (np.exp(-relu(-x)) - 1)


@deviation("rectifies", "infinities", kind="arithmetic")
def half_of_x_and_its_absolute_value(x: Any, *, held: Any) -> Any:
    """without a branch, (x + |x|) / 2, whose sum overflows.

    Shows: numbers beyond half the dtype's largest, and −∞, which gives NaN. Hides: everything smaller.
    """
    return held(held(x + np.abs(x)) / 2)


@deviation("reference", "elementwise", kind="arithmetic")
def quantized_by_row(x: Any, *, held: Any) -> Any:
    """x is first quantized to eight bits, with a scale of each row's own.

    Shows: small numbers beside a large one. Hides: rows of one magnitude, coarse comparisons.
    """
    largest = np.max(np.abs(x), axis=-1, keepdims=True) if x.ndim else np.abs(x)
    scale = np.maximum(largest, 1e-30) / 127
    return relu(held(np.rint(x / scale) * scale))


@deviation("nan_propagation", kind="fault")
def nan_becomes_zero(function: Any, x: Any) -> Any:
    """a NaN gives 0, as the maximum of NaN and 0 does in C.

    Shows: NaN alone. Hides: every number.
    """
    return function(np.asarray(np.fmax(x, 0), dtype=x.dtype))
