"""dequantize in parts, any of which a deviation may replace."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import float64, product
from reference_numpy._narrow import spread, subtracted


def plain(x: Any) -> Any:
    """Return the values of numbers that may carry an error, as those in few bits do not."""
    return np.asarray(getattr(x, "value", x))


def keep(q: Any, dtype: str) -> Any:
    return q


def subtract(q: Any, z: Any, dtype: str) -> Any:
    return q - z


def add(y: Any, bias: Any, scale: Any) -> Any:
    return y + bias


def redequantize(
    q: Any,
    scale: Any,
    zero_point: Any = None,
    bias: Any = None,
    global_scale: Any = None,
    *,
    q_dtype: str,
    block: Any,
    scale_dtype: str = "float32",
    dtype: str = "float32",
    read: Callable[[Any, str], Any] = keep,
    difference: Callable[[Any, Any, str], Any] = subtract,
    spread_scale: Callable[[Any, Any, Any], Any] = spread,
    multiply: Callable[..., Any] = product,
    add_bias: Callable[[Any, Any, Any], Any] = add,
) -> Any:
    """Return what dequantize gives, where one of its parts may be another."""
    q, scale = float64(q), float64(scale)
    numbers = read(plain(q), q_dtype)
    if zero_point is not None:
        z = spread_scale(float64(subtracted(np.asarray(zero_point), q_dtype)), block, q.shape)
        numbers = difference(numbers, z, q_dtype)
    numbers = q.constant(numbers) if hasattr(q, "constant") else numbers
    wide = spread_scale(scale, block, q.shape)
    factors = [wide, *([] if global_scale is None else [float64(global_scale)])]
    y = multiply(numbers, *factors, roundings=len(factors))
    return y if bias is None else add_bias(y, spread_scale(float64(bias), block, q.shape), wide)
