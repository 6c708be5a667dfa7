"""Numbers in few bits, in NumPy: quotients in float32, and each number found in a table of those of its format.

Arrays of eight bits have a dtype of ml_dtypes where that is installed, and are codes otherwise, as those of fewer bits are.
"""

import importlib
import importlib.util

import numpy as np

from ._narrow_formats import FLOATS, INTEGERS, NAN_CODES

INFINITY = 0x7C  # the code of float8_e5m2
HAS_ML_DTYPES = importlib.util.find_spec("ml_dtypes") is not None


def _sizes(dtype):
    """The numbers of a format from 0 to the largest, in the order of their codes."""
    bits, fraction_bits, emin, largest = FLOATS[dtype]
    codes = np.arange(1 << (bits - 1))
    exponent, fraction = codes >> fraction_bits, codes % (1 << fraction_bits) / (1 << fraction_bits)
    sizes = np.where(exponent == 0, fraction, 1 + fraction) * 2.0 ** (np.maximum(exponent, 1) - 1 + emin)
    return sizes[sizes <= largest].astype(np.float32)


def _to_codes(t, dtype):
    """The codes of the nearest numbers, of two the even code. What is too large has the last code."""
    sizes, bits = _sizes(dtype), FLOATS[dtype][0]
    middle = (sizes[1:] + sizes[:-1]) / 2  # exact in float32
    size = np.abs(t)
    below, above = np.searchsorted(middle, size, side="left"), np.searchsorted(middle, size, side="right")
    code = np.where(below % 2 == 0, below, above)  # they differ on a midpoint alone
    negative = np.signbit(t) & ~((code == 0) & dtype.endswith("uz"))
    code = code + (negative << (bits - 1))
    return np.where(np.isnan(t), NAN_CODES.get(dtype, 0), code).astype(np.uint8)


def _as_dtype(codes, dtype):
    is_native = dtype.startswith("float8") and HAS_ML_DTYPES
    return codes.view(getattr(importlib.import_module("ml_dtypes"), dtype)) if is_native else codes


def _widened(scale, scale_dtype):
    """Scales as float32."""
    if scale_dtype == "float32":
        return scale
    codes = np.asarray(scale).view(np.uint8)
    if scale_dtype == "float8_e8m0fnu":
        return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(int) - 127)).astype(np.float32)
    sizes = np.append(_sizes(scale_dtype), np.float32(np.nan))
    return np.where(codes < 128, sizes[codes & 127], -sizes[codes & 127])


def _of_elements(scale, block, shape):
    """The scale of each element: that of its block."""
    for axis, size in ((-2, block[0]), (-1, block[1])):
        index = np.arange(shape[axis])
        scale = np.take(scale, index // max(shape[axis], 1) if size is None else index // size, axis=axis)
    return scale


def quantize(x, scale, zero_point=None, global_scale=None, *, dtype, block, scale_dtype="float32"):
    with np.errstate(all="ignore"):
        wide = _of_elements(_widened(scale, scale_dtype), block, x.shape)
        wide = wide if global_scale is None else wide * np.float32(global_scale)
        t = x.astype(np.float32) / wide
        if dtype in FLOATS:
            return _as_dtype(_to_codes(t, dtype), dtype)
        least, largest = INTEGERS[dtype]
        z = 0 if zero_point is None else _of_elements(zero_point.astype(np.float32), block, x.shape)
        q = np.clip(np.rint(np.clip(t, -1024, 1024)) + z, least, largest)
        return np.nan_to_num(q).astype(np.int8 if dtype.startswith("int") else np.uint8)


def _numbers(codes, dtype):
    """The numbers of a floating format that codes stand for, as float32."""
    bits, fraction_bits, emin, largest = FLOATS[dtype]
    codes = np.asarray(codes).view(np.uint8)
    size = codes & ((1 << (bits - 1)) - 1)
    exponent, fraction = size >> fraction_bits, (size % (1 << fraction_bits)) / np.float32(1 << fraction_bits)
    y = np.ldexp(np.where(exponent == 0, fraction, 1 + fraction), np.maximum(exponent, 1).astype(int) - 1 + emin)
    y = np.where(y > largest, np.inf if dtype == "float8_e5m2" else np.nan, y)
    if dtype == "float8_e5m2":
        y = np.where(size > INFINITY, np.nan, y)
    y = np.where(codes >> (bits - 1), -y, y)
    return np.where(dtype.endswith("uz") & (codes == NAN_CODES.get(dtype)), np.nan, y).astype(np.float32)


def dequantize(
    q, scale, zero_point=None, bias=None, global_scale=None, *, q_dtype, block, scale_dtype="float32", dtype="float32"
):
    with np.errstate(all="ignore"):
        y = _numbers(q, q_dtype) if q_dtype in FLOATS else q.astype(np.float32)
        if zero_point is not None:
            y = y - _of_elements(zero_point.astype(np.float32), block, y.shape)
        y = y * _of_elements(_widened(scale, scale_dtype), block, y.shape)
        y = y if global_scale is None else y * np.float32(global_scale)
        y = y if bias is None else y + _of_elements(bias, block, y.shape)
        return y.astype(importlib.import_module("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)


def _operand(q, scale, zero_point, q_dtype, block, scale_dtype):
    """The numbers of one operand as float32, times the scales of their blocks. One that is no format of few bits has no scale."""
    y = _numbers(q, q_dtype) if q_dtype in FLOATS else q.astype(np.float32)
    if zero_point is not None:
        y = y - _of_elements(zero_point.astype(np.float32), block, y.shape)
    return y if scale is None else y * _of_elements(_widened(scale, scale_dtype), block, y.shape)


def scaled_matmul(
    a, b, scale_a=None, scale_b=None, zero_point_a=None, zero_point_b=None, bias=None, global_scale_a=None,
    global_scale_b=None, *, a_dtype, b_dtype, block_a=None, block_b, scale_dtype_a="float32", scale_dtype_b="float32",
    dtype="bfloat16",
):  # fmt: skip
    with np.errstate(all="ignore"):
        left = _operand(a, scale_a, zero_point_a, a_dtype, block_a, scale_dtype_a)
        right = _operand(b, scale_b, zero_point_b, b_dtype, block_b, scale_dtype_b)
        y = left @ np.swapaxes(right, -1, -2)
        for g in (global_scale_a, global_scale_b):
            y = y if g is None else y * np.float32(g)
        y = y if bias is None else y + bias.astype(np.float32)
        return y.astype(importlib.import_module("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype)


def unpack_int4(packed, *, order="sequential", signed=False):
    nibbles = packed.astype(np.uint32)[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    y = nibbles[..., [0, 4, 1, 5, 2, 6, 3, 7]] if order == "awq" else nibbles
    y = y.astype(np.int8).reshape(*packed.shape[:-1], -1 if packed.size else 8 * packed.shape[-1])
    return np.where(y >= 8, y - np.int8(16), y) if signed else y


def swizzle_scales(scales):
    m, c = scales.shape
    whole = np.pad(scales, ((0, -m % 128), (0, -c % 4)))
    return whole.reshape(len(whole) // 128, 4, 32, -1, 4).transpose(0, 3, 2, 1, 4).reshape(-1)


def _blocks(x, block, reduce):
    """What a function gives for each block, of shape (..., R, C)."""
    for axis, size in ((-1, block[1]), (-2, block[0])):
        x = reduce.reduceat(x, np.arange(0, x.shape[axis], size or x.shape[axis]), axis=axis)
    return x


def _power_of_two(amax, dtype, rule):
    """The exponents of scales in float8_e8m0fnu, from the bits of the largest number of each block."""
    fraction_bits, largest = FLOATS[dtype][1], np.float32(FLOATS[dtype][3])
    bits = amax.view(np.int32)
    if rule == "even":
        bits = bits + (1 << (22 - fraction_bits))
    s = (bits >> 23) - (largest.view(np.int32) >> 23)
    if rule == "rceil":
        s = s + ((bits & 0x7FFFFF) > (largest.view(np.int32) & 0x7FFFFF))
    return np.clip(s, -127, 127)


def dynamic_quantize(
    x, global_scale=None, *, dtype, block, scale_dtype="float32", scale_rounding="rceil", eps=0.0, symmetric=True
):
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        if not symmetric:
            return _with_zero_point(x, dtype, block)
        amax = np.maximum(_blocks(np.abs(x), block, np.maximum), np.float32(eps))
        largest = np.float32(FLOATS[dtype][3] if dtype in FLOATS else INTEGERS[dtype][1])
        if scale_dtype == "float8_e8m0fnu":
            codes = (_power_of_two(amax, dtype, scale_rounding) + 127).astype(np.uint8)
            codes = np.where(np.isnan(amax), np.uint8(255), codes)
            scale = _as_dtype(codes, scale_dtype)
        elif scale_dtype == "float8_e4m3fn":
            whole = largest if global_scale is None else largest * np.float32(global_scale)
            scale = _as_dtype(_to_codes(amax / whole, scale_dtype), scale_dtype)
        else:
            scale = amax / largest
        at = _widened(scale, scale_dtype)
        safe = scale if np.all(at > 0) else np.where(at > 0, at, np.float32(1))
        kind = scale_dtype if safe is scale else "float32"
        return quantize(x, safe, None, global_scale, dtype=dtype, block=block, scale_dtype=kind), scale


def _with_zero_point(x, dtype, block):
    least, largest = INTEGERS[dtype]
    low = np.minimum(_blocks(x, block, np.minimum), np.float32(0))
    high = np.maximum(_blocks(x, block, np.maximum), np.float32(0))
    scale = (high - low) / np.float32(largest - least)
    safe = np.where(scale > 0, scale, np.float32(1))
    zero_point = np.clip(least - np.rint(np.clip(low / safe, -1024, 0)), least, largest)
    zero_point = zero_point.astype(np.int8 if least < 0 else np.uint8)
    return quantize(x, safe, zero_point, dtype=dtype, block=block), scale, zero_point
