"""scaled_matmul in parts, any of which a deviation may replace."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import exact, float64, product
from reference_numpy._narrow import spread, subtracted, two_levels

from ._dequantized import keep, plain, subtract


def multiply(left: Any, right: Any) -> Any:
    return np.matmul(left, np.swapaxes(right, -1, -2))


def rescale(
    a: Any,
    b: Any,
    scale_a: Any = None,
    scale_b: Any = None,
    zero_point_a: Any = None,
    zero_point_b: Any = None,
    bias: Any = None,
    global_scale_a: Any = None,
    global_scale_b: Any = None,
    *,
    a_dtype: str,
    b_dtype: str,
    block_a: Any = None,
    block_b: Any,
    scale_dtype_a: str = "float32",
    scale_dtype_b: str = "float32",
    dtype: str = "bfloat16",
    read: Callable[[Any, str], Any] = keep,
    difference: Callable[[Any, Any, str], Any] = subtract,
    spread_scale: Callable[[Any, Any, Any], Any] = spread,
    contract: Callable[[Any, Any], Any] = multiply,
) -> Any:
    """Return what scaled_matmul gives, where one of its parts may be another."""

    def operand(q: Any, scale: Any, zero_point: Any, name: str, block: Any) -> Any:
        q = float64(q)
        y = read(plain(q), name)
        if zero_point is not None:
            y = difference(y, spread(float64(subtracted(np.asarray(zero_point), name)), block, q.shape), name)
        y = exact(q.constant(y)) if hasattr(q, "constant") else y
        return y if scale is None else product(y, spread_scale(float64(scale), block, q.shape), roundings=1)

    left = operand(a, scale_a, zero_point_a, a_dtype, block_a)
    y = contract(left, operand(b, scale_b, zero_point_b, b_dtype, block_b))
    for factor in two_levels(global_scale_a, global_scale_b):
        y = y * factor
    return y if bias is None else y + float64(bias)
