"""Formats of few bits: rounding to them, and the blocks that share a scale."""

import math
from types import MappingProxyType
from typing import Any

import numpy as np

from ._marks import exact, float64, product

# The bits of the significand, the exponent of the smallest normal number, and the largest number.
FLOATS = MappingProxyType({
    "float8_e4m3fn": (4, -6, 448.0),
    "float8_e5m2": (3, -14, 57344.0),
    "float8_e4m3fnuz": (4, -7, 240.0),
    "float8_e5m2fnuz": (3, -15, 57344.0),
    "float6_e2m3fn": (4, 0, 7.5),
    "float6_e3m2fn": (3, -2, 28.0),
    "float4_e2m1fn": (2, 0, 6.0),
})  # fmt: skip
# The unit roundoff of a dtype of 16 bits, and the largest error below its normal range.
ROUNDED_TO = MappingProxyType({"bfloat16": (2.0**-8, 0.0), "float16": (2.0**-11, 2.0**-25)})
INTEGERS = MappingProxyType({"int8": (-128, 127), "int4": (-8, 7), "uint8": (0, 255), "uint4": (0, 15)})  # least and largest


def nearest(t: Any, dtype: str) -> Any:
    """Return the number of a floating format that is nearest to t, the even one of two. Beyond the largest it is the largest."""
    precision, emin, largest = FLOATS[dtype]
    exponent = np.maximum(np.frexp(t)[1] - 1, emin)
    step = np.ldexp(1.0, exponent - (precision - 1))  # from one number of the format to the next
    return np.clip(np.rint(t / step) * step, -largest, largest)


def qmin(dtype: str, zero_point: Any) -> int:
    """Return the smallest number of an integer format that is given. Without a zero point it may be another, see int8_range."""
    return INTEGERS[dtype][0]


def qmax(dtype: str) -> int:
    """Return the largest number of an integer format."""
    return INTEGERS[dtype][1]


def subtracted(zero_point: Any, dtype: str) -> Any:
    """Return what a given zero point subtracts from the numbers of an integer format: itself, but see stored_zero_point."""
    return zero_point


def check_blocks(operation: str, name: str, shape: tuple[int, ...], scale: Any, block: Any) -> None:
    """Raise ValueError where an array of this shape has not as many blocks as there are scales."""
    blocks = tuple(count_blocks(n, size) for n, size in zip(shape[-2:], block, strict=True))
    if scale.shape[-2:] != blocks:
        raise ValueError(f"{operation}: scale has shape {scale.shape}; {name} has {blocks[0]} x {blocks[1]} blocks of {block}.")


def spread(scale: Any, block: Any, shape: tuple[int, ...]) -> Any:
    """Return the scale of each element: its block's. The last block of an axis may be shorter than the others."""
    for axis, size, length in ((-2, block[0], shape[-2]), (-1, block[1], shape[-1])):
        size = length if size is None else min(size, max(length, 1))
        scale = np.take(scale, np.arange(length) // max(size, 1), axis=axis)
    return scale


def count_blocks(length: int, size: int | None) -> int:
    """Return how many blocks of this size an axis has. None is one block for the whole axis."""
    return 1 if size is None else math.ceil(length / size)


def count_pieces(length: int, *blocks: Any) -> int:
    """Return into how many pieces the boundaries of all these blocks cut an axis of this length."""
    sizes = [block[1] for block in blocks if block[1] is not None]
    return len({0} | {edge for size in sizes for edge in range(size, length, size)})


def two_levels(*global_scales: Any) -> Any:
    """Return the factors that global scales are: they themselves, but see the convention global_scale."""
    return [float64(g) for g in global_scales if g is not None]


def to_numbers(q: Any, scale: Any, zero_point: Any, block: Any) -> Any:
    """Return (q - zero_point) * scale. The difference is exact, and the error of the product is that of whole sums."""
    y = q if zero_point is None else exact(q - spread(float64(zero_point), block, q.shape))
    return y if scale is None else product(y, spread(float64(scale), block, q.shape), roundings=0)


def to_sizes(q: Any, scale: Any, zero_point: Any, block: Any) -> Any:
    """Return (|q| + |zero_point|) * scale: what is added up where code multiplies numbers and zero points apart."""
    y = np.abs(q) if zero_point is None else np.abs(q) + np.abs(spread(float64(zero_point), block, q.shape))
    return y if scale is None else product(y, spread(float64(scale), block, q.shape), roundings=0)
