from typing import Any

import numpy as np

from ._marks import float64, quotient, stored
from ._narrow import FLOATS, INTEGERS, check_blocks, nearest, qmax, qmin, spread


def quantize(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    global_scale: Any = None,
    *,
    dtype: str,
    block: Any,
    scale_dtype: str = "float32",
) -> Any:
    """Numbers in few bits: each element divided by the scale of its block, and rounded to the format.

        t = x / (scale * global_scale)
        floating formats:  q = the nearest number of the format, ties to even, saturating
        integers:          q = clamp(rint(t) + zero_point, qmin, qmax)

    Shapes
        x (..., M, K),  scale and zero_point (..., R, C),  global_scale ()  ->  (..., M, K)
    Dtypes
        of the format that dtype names
    Domain
        The scale is of the format that scale_dtype names, a zero_point int8 for signed formats and uint8 for unsigned ones.
        Scales are positive, from 2^-126 to 2^126, but for the code 0 of float8_e8m0fnu, 2^-127. A zero_point goes with
        integers, scales in few bits with floating formats, and a global_scale with scales in float8_e4m3fn.
    Edges
        What lies beyond the largest number gives the largest number, infinities too. NaN stays NaN where the format has
        one. A zero_point may be qmin or qmax. The last block of an axis may be shorter than the others.

    Raises
        ValueError where dtype is no format, or the scale has other blocks.
    Choices
        A block is (rows, columns), None for a whole axis: (None, None) is one scale for each matrix, (1, None) one for each
        row, (1, 32) MX, (1, 16) NVFP4, (1, 128) and (128, 128) DeepSeek-V3. R and C are how many blocks there are.
        Without a zero_point some code clamps int8 to -127, some ties of float4_e2m1fn go away from zero or toward it, and
        some global scales divide: the conventions int8_range, fp4_ties and global_scale.
    Source
        Micikevicius et al. 2022, arXiv:2209.05433; Rouhani et al. 2023, arXiv:2310.10537; ONNX, QuantizeLinear.

    The midpoint 17 goes to 16, whose code is even; 1000 is beyond the largest number:

    >>> quantize([[17.0, 19.0, 1000.0]], [[1.0]], dtype="float8_e4m3fn", block=(1, None))
    array([[ 16.,  20., 448.]])
    >>> quantize([[-1.0, 0.5, 1.5]], [[1.0]], [[3]], dtype="uint4", block=(None, None))
    array([[2., 3., 5.]])

    """
    if dtype not in FLOATS and dtype not in INTEGERS:
        raise ValueError(f"quantize: dtype={dtype!r} is unknown; there are {', '.join((*FLOATS, *INTEGERS))}.")
    x, scale = float64(x), float64(scale)
    check_blocks("quantize", "x", x.shape, scale, block)
    divisors = [spread(scale, block, x.shape), *([] if global_scale is None else [float64(global_scale)])]
    t = quotient(x, *divisors, roundings=2 if global_scale is None else 6)
    if dtype in FLOATS:
        return stored(t, lambda t: nearest(t, dtype))
    z = 0 if zero_point is None else spread(np.asarray(zero_point), block, x.shape)
    return stored(t, lambda t: np.clip(np.rint(t) + z, qmin(dtype, zero_point), qmax(dtype)))
