"""The scales of blocks that are quantized dynamically: the largest number of a block, and how a scale is made of it."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from ._marks import quotient, stored
from ._narrow import FLOATS, INTEGERS, count_blocks

SMALLEST_NORMAL = 2.0**-126  # of float32
LARGEST_SCALES = MappingProxyType({"float32": (2 - 2.0**-23) * 2.0**127, "float8_e8m0fnu": 2.0**127, "float8_e4m3fn": 448.0})
EXPONENTS = (-127, 127)  # of float8_e8m0fnu


def reduce_blocks(reduce: Callable[..., Any], x: Any, block: Any) -> Any:
    """Return what a function gives for each block. The last block of an axis is filled up with its last number."""
    for axis, size in ((-1, block[1]), (-2, block[0])):
        length = x.shape[axis]
        size = length if size is None else min(size, length)
        count = count_blocks(length, size)
        x = np.take(x, np.minimum(np.arange(count * size), length - 1), axis=axis)
        rest = x.shape[x.ndim + axis + 1 :]
        x = reduce(np.reshape(x, (*x.shape[: x.ndim + axis], count, size, *rest)), axis=axis)
    return x


def divisor(dtype: str) -> float:
    """Return the number that the largest of a block becomes: the largest of the format. See integer_divisor."""
    return FLOATS[dtype][2] if dtype in FLOATS else float(INTEGERS[dtype][1])


def scale_in_float32(size: Any, largest: float, eps: float) -> Any:
    """Return the scale of a block whose largest number has this size. eps is a floor of the size, but see floored."""
    return quotient(np.maximum(size, eps), np.asarray(largest), roundings=2)


def least_fp8_scale() -> float:
    """Return the smallest scale in float8_e4m3fn. See small_fp8_scale."""
    return 0.0


def power_of_two(size: Any, dtype: str, rule: str) -> Any:
    """Return the scale in float8_e8m0fnu of a block whose largest number has this size: exactly, from its bits.

    "rceil" is the least power of two at which it does not exceed the largest number of the format; "floor" subtracts the
    exponents of both; "even" does so after rounding the size to as many bits as the format has, half a step up.
    """
    fraction, exponent = np.frexp(size)
    of_largest, largest = np.frexp(FLOATS[dtype][2])
    s = exponent - largest
    if rule == "rceil":
        s = s + (fraction > of_largest)
    if rule == "even":
        steps = 2.0 ** FLOATS[dtype][0]
        s = s + (np.floor(fraction * steps + 0.5) >= steps)
    power = np.ldexp(1.0, np.clip(np.where(size == 0, EXPONENTS[0], s), *EXPONENTS))
    return np.where(np.isnan(size), size, power)


def with_zero(side: Any) -> Any:
    """Return how far a block reaches to one side of 0: to 0 at least."""
    return np.maximum(side, 0.0)


def find_zero_point(below: Any, above: Any, scale: Any, low: float, high: float) -> Any:
    """Return the number that stands for 0, of a block that reaches so far to both sides of it."""
    return stored(quotient(below, scale, roundings=4), lambda t: np.clip(low + np.rint(t), low, high))


def shifted(t: Any, zero_point: Any) -> Any:
    """Return quotients that are rounded, and then shifted by the zero point."""
    return stored(t, np.rint) + zero_point
