"""ONNX Runtime's numbers in few bits: QuantizeLinear, DequantizeLinear and its own MatMulNBits. Numbers are codes."""

import numpy as np

from ._onnxruntime_node import run_on_codes


def _in_rows(x, scale, block):
    """A matrix of rows, its scales, and where they lie: one of all, one for each row, or one for each block of a row."""
    if block == (None, None):
        return x.reshape(scale.size, -1), {"axis": 0}, (-1,)
    rows = x.reshape(-1, x.shape[-1])
    if block[1] is None or block[1] >= x.shape[-1]:
        return rows, {"axis": 0}, (-1,)
    return rows, {"axis": 1, "block_size": block[1]}, (len(rows), -1)


def _zeros(zero_point, scale, dtype):
    kind = np.int8 if dtype == "int8" else np.uint8
    return np.zeros(scale.shape, kind) if zero_point is None else zero_point


def quantize(x, scale, zero_point=None, *, dtype, block):
    rows, attributes, shape = _in_rows(x.astype(np.float32), scale, block)
    arrays = rows, scale.reshape(shape), _zeros(zero_point, scale, dtype).reshape(shape)
    types = ("float32", "float32", dtype)
    y = run_on_codes("QuantizeLinear", *arrays, dtypes=types, result_dtype=dtype, **attributes)
    return y.reshape(x.shape)


def dequantize(q, scale, zero_point=None, *, q_dtype, block, dtype="float32"):
    rows, attributes, shape = _in_rows(q, scale, block)
    arrays = rows, scale.reshape(shape), _zeros(zero_point, scale, q_dtype).reshape(shape)
    types = (q_dtype, "float32", q_dtype)
    y = run_on_codes("DequantizeLinear", *arrays, dtypes=types, result_dtype="float32", **attributes)
    return y.reshape(q.shape).astype(dtype)


def _in_nibbles(codes):
    """Two codes in a byte, the first in its lower half. An odd number of codes is filled up."""
    whole = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, codes.shape[-1] % 2)])
    return whole[..., ::2] | whole[..., 1::2] << 4


def scaled_matmul(a, b, scale_b=None, zero_point_b=None, *, b_dtype, block_b, dtype="bfloat16"):
    (n, k), size = b.shape, block_b[1]
    blocks = scale_b.shape[-1]
    whole = np.pad(b, ((0, 0), (0, blocks * size - k))).reshape(n, blocks, size)
    zeros = _in_nibbles(_zeros(zero_point_b, scale_b, b_dtype))
    arrays = a.reshape(-1, k), _in_nibbles(whole), scale_b.reshape(-1), zeros.reshape(-1)
    types, attributes = ("float32", "uint8", "float32", "uint8"), {"K": k, "N": n, "bits": 4, "block_size": size}
    y = run_on_codes("com.microsoft:MatMulNBits", *arrays, dtypes=types, result_dtype="float32", **attributes)
    return y.reshape(*a.shape[:-1], n).astype(dtype)
