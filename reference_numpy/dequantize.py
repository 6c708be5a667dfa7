from typing import Any

import numpy as np

from ._marks import exact, float64, product
from ._narrow import FLOATS, INTEGERS, check_blocks, spread, subtracted

DTYPES = ("float32", "bfloat16", "float16")


def dequantize(
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
) -> Any:
    """What numbers in few bits stand for: each one times the scale of its block.

        y = (q - zero_point) * scale * global_scale + bias

    Shapes
        q (..., M, K),  scale, zero_point and bias (..., R, C),  global_scale ()  ->  (..., M, K)
    Dtypes
        of the format that dtype names
    Domain
        The scale is of the format that scale_dtype names, a zero_point int8 for signed formats and uint8 for unsigned ones.
        Scales are positive, from 2^-126 to 2^126, but for the codes 0 and 254 of float8_e8m0fnu, 2^-127 and 2^127.
        A zero_point and a bias go with integers, scales in few bits with floating formats, and a global_scale with scales in
        float8_e4m3fn.
    Edges
        The difference q - zero_point is exact: it has one bit more than q. A code of infinity gives an infinity, one of NaN
        gives NaN, and so does a scale that is NaN. The last block of an axis may be shorter than the others.

    Raises
        ValueError where q_dtype is no format, dtype is not float32, bfloat16 or float16, or the scale has other blocks.
    Choices
        A block is (rows, columns), None for a whole axis, as in quantize. The bias is that of affine formats, as MLX has them.
        Some global scales divide, and some code stores zero points less one: the conventions global_scale and
        stored_zero_point.
    Source
        ONNX, DequantizeLinear; Rouhani et al. 2023, arXiv:2310.10537.

    >>> dequantize([[1.0, -448.0]], [[0.5]], q_dtype="float8_e4m3fn", block=(1, None))
    array([[   0.5, -224. ]])
    >>> dequantize([[2, 3, 5]], [[2.0]], [[3]], q_dtype="uint4", block=(None, None))
    array([[-2.,  0.,  4.]])

    """
    if q_dtype not in FLOATS and q_dtype not in INTEGERS:
        raise ValueError(f"dequantize: q_dtype={q_dtype!r} is unknown; there are {', '.join((*FLOATS, *INTEGERS))}.")
    if dtype not in DTYPES:
        raise ValueError(f"dequantize: dtype={dtype!r} is unknown; there are {', '.join(DTYPES)}.")
    q, scale = float64(q), float64(scale)
    check_blocks("dequantize", "q", q.shape, scale, block)
    if zero_point is not None:
        q = exact(q - spread(float64(subtracted(np.asarray(zero_point), q_dtype)), block, q.shape))
    factors = [spread(scale, block, q.shape), *([] if global_scale is None else [float64(global_scale)])]
    y = product(q, *factors, roundings=len(factors))
    return y if bias is None else y + spread(float64(bias), block, q.shape)
