from typing import Any

import numpy as np

from ._marks import answered, between, double, float64, number, quotient, stored
from ._narrow import FLOATS, INTEGERS, nearest, spread
from ._scales import (
    LARGEST_SCALES,
    SMALLEST_NORMAL,
    divisor,
    find_zero_point,
    least_fp8_scale,
    power_of_two,
    reduce_blocks,
    scale_in_float32,
    shifted,
    with_zero,
)


def dynamic_quantize(
    x: Any,
    global_scale: Any = None,
    *,
    dtype: str,
    block: Any,
    scale_dtype: str = "float32",
    scale_rounding: str = "rceil",
    eps: float = 0.0,
    symmetric: bool = True,
) -> Any:
    """Numbers in few bits, with scales that are made of the largest number of each block.

        A = max(max |x| over the block, eps)
        float32:         scale = A / qmax
        float8_e8m0fnu:  scale = 2^s, where s from -127 to 127 is
                         "rceil" ceil(log2(A / qmax)), "floor" floor(log2(A)) - floor(log2(qmax)), "even" the same of a rounded A
        float8_e4m3fn:   scale = A / (qmax * global_scale), rounded as quantize rounds
        q = quantize(x, scale, None, global_scale)

    Where symmetric is False, with lo = min(min x, 0) and hi = max(max x, 0) over the block:

        scale = (hi - lo) / (qmax - qmin);  zero_point = clamp(qmin - rint(lo / scale), qmin, qmax)
        q = quantize(x, scale, zero_point)

    Shapes
        x (..., M, K),  global_scale ()  ->  q (..., M, K),  scale (..., R, C),  zero_point (..., R, C)
    Dtypes
        q and zero_point of the format that dtype names; scale of the format that scale_dtype names
    Domain
        x is finite. Scales of integers are float32. symmetric is False for uint8 and uint4, True for int4 and floating formats.
        eps > 0 goes with symmetric scales in float32, or in float8_e8m0fnu where the convention floored is "amax"; a
        global_scale with scales in float8_e4m3fn. hi - lo is finite in float32.
    Edges
        A block of zeros has any finite scale >= 0, the same for all such blocks, and numbers that stand for 0. So may a block
        whose A is below 2^-126. Where a scale is 0, or float32 and below 2^-126, zeros stand for 0, other numbers are any
        finite ones, and the zero_point is any. A / qmax below 2^-126 gives s = -127 or -126.

    Raises
        ValueError where dtype is no format, or scale_rounding is unknown.
    Choices
        A block is (rows, columns), None for a whole axis, as in quantize. The zero_point is returned where symmetric is False.
        Some code divides by 127.5, or keeps scales in float8_e4m3fn from falling below 2^-6, or applies eps to the scale:
        the conventions integer_divisor, small_fp8_scale and floored. Others are fp4_ties and global_scale.
    Source
        OCP Microscaling Formats 1.0, section 6.3; Rouhani et al. 2023, arXiv:2310.10537; NVIDIA, NVFP4; ONNX,
        DynamicQuantizeLinear.

    The numbers and the scale are judged together: each number at the scale that was returned.

    >>> dynamic_quantize([[1.0, -3.5, 7.0]], dtype="float8_e4m3fn", block=(1, None), scale_dtype="float8_e8m0fnu")
    (array([[  64., -224.,  448.]]), array([[0.015625]]))
    >>> dynamic_quantize([[-1.0, 0.0, 2.0]], dtype="uint4", block=(1, None), symmetric=False)
    (array([[ 0.,  5., 15.]]), array([[0.2]]), array([[5.]]))
    """
    if dtype not in FLOATS and dtype not in INTEGERS:
        raise ValueError(f"dynamic_quantize: dtype={dtype!r} is unknown; there are {', '.join((*FLOATS, *INTEGERS))}.")
    if scale_rounding not in ("rceil", "floor", "even"):
        raise ValueError(f"dynamic_quantize: scale_rounding={scale_rounding!r} is unknown; there are rceil, floor and even.")
    x, g = float64(x), [] if global_scale is None else [float64(global_scale)]
    low, high = (-FLOATS[dtype][2], FLOATS[dtype][2]) if dtype in FLOATS else INTEGERS[dtype]
    if symmetric:
        size = reduce_blocks(np.max, np.abs(x), block)
        scale = _symmetric(size, g, dtype, scale_dtype, scale_rounding, eps)
        empty = number(size) < SMALLEST_NORMAL * (double(eps) == 0)
    else:
        below, above = (with_zero(reduce_blocks(np.max, side, block)) for side in (-x, x))
        scale = quotient(above + below, np.asarray(high - low, dtype=np.float64), roundings=2)
        empty = number(above + below) < SMALLEST_NORMAL
    scale = between(scale, empty, -LARGEST_SCALES[scale_dtype], LARGEST_SCALES[scale_dtype])
    at = answered(scale, "scale", least=0.0, roundings=4 if scale_dtype == "float32" else 0)
    lost = (number(at) == 0) | ((number(at) < SMALLEST_NORMAL) & (scale_dtype == "float32"))
    at = np.where(lost, 1.0, at)
    t = quotient(x, spread(at, block, x.shape), *g, roundings=4 if not g else 6)
    free = spread(lost, block, x.shape) & (number(x) != 0)
    if dtype in FLOATS:
        return between(stored(t, lambda t: nearest(t, dtype)), free, low, high), scale
    if symmetric:
        return between(stored(t, lambda t: np.clip(np.rint(t), low, high)), free, low, high), scale
    zero_point = between(find_zero_point(below, above, at, low, high), lost, low, high)
    z = spread(answered(zero_point, "zero_point"), block, x.shape)
    q = stored(shifted(t, z), lambda q: np.clip(np.rint(q), low, high))
    return between(q, free, low, high), scale, zero_point


def _symmetric(size: Any, g: list[Any], dtype: str, scale_dtype: str, rule: str, eps: float) -> Any:
    """Return the scale of each block whose largest number has this size."""
    if scale_dtype == "float32":
        return scale_in_float32(size, divisor(dtype), eps)
    if scale_dtype == "float8_e4m3fn":
        t = quotient(size, np.asarray(divisor(dtype)), *g, roundings=3 if not g else 6)
        return stored(t, lambda t: np.maximum(nearest(t, "float8_e4m3fn"), least_fp8_scale()))
    size = np.maximum(size, eps)
    s = stored(size, lambda a: power_of_two(a, dtype, rule))
    return between(s, number(size) / FLOATS[dtype][2] < SMALLEST_NORMAL, 2.0**-127, 2.0**-126)
