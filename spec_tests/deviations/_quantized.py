"""quantize in parts, any of which a deviation may replace."""

from collections.abc import Callable
from typing import Any

import numpy as np

from reference_numpy._marks import float64, quotient, stored
from reference_numpy._narrow import FLOATS, nearest, qmax, qmin, spread


def round_integers(t: Any, z: Any, low: int, high: int) -> Any:
    return np.clip(np.rint(t) + z, low, high)


def requantize(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    global_scale: Any = None,
    *,
    dtype: str,
    block: Any,
    scale_dtype: str = "float32",
    floats: Callable[[Any, str], Any] = nearest,
    integers: Callable[[Any, Any, int, int], Any] = round_integers,
    spread_scale: Callable[[Any, Any, Any], Any] = spread,
    divide: Callable[..., Any] = quotient,
) -> Any:
    """Return what quantize gives, where one of its parts may be another."""
    x, scale = float64(x), float64(scale)
    divisors = [spread_scale(scale, block, x.shape), *([] if global_scale is None else [float64(global_scale)])]
    t = divide(x, *divisors, roundings=2 if global_scale is None else 6)
    if dtype in FLOATS:
        return stored(t, lambda t: floats(t, dtype))
    z = 0 if zero_point is None else spread_scale(np.asarray(zero_point), block, x.shape)
    return stored(t, lambda t: integers(t, z, qmin(dtype, zero_point), qmax(dtype)))


def step_at(t: Any, dtype: str) -> Any:
    """Return the distance between the numbers of a floating format around t."""
    precision, emin, _ = FLOATS[dtype]
    return np.ldexp(1.0, np.maximum(np.frexp(t)[1] - 1, emin) - (precision - 1))


def saturate(y: Any, dtype: str) -> Any:
    return np.clip(y, -FLOATS[dtype][2], FLOATS[dtype][2])


def away_from_zero(t: Any) -> Any:
    return np.trunc(t + np.copysign(0.5, t))
