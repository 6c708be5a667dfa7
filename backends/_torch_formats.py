"""Numbers in few bits, in PyTorch: quotients in float32, and each rounded to the step between the numbers around it."""

import torch

from ._narrow_formats import FLOATS, INTEGERS, NAN_CODES


def _nearest(t, dtype):
    """The nearest numbers of the format, in float32. Beyond the largest it is the largest."""
    _, fraction_bits, emin, largest = FLOATS[dtype]
    t = t.clamp(-2 * largest, 2 * largest)  # a larger one would have no step
    exponent = torch.frexp(t).exponent.sub(1).clamp(min=emin)
    step = torch.ldexp(torch.ones_like(t), exponent - fraction_bits)
    return (torch.round(t / step) * step).clamp(-largest, largest)


def _codes(y, dtype):
    """The codes of numbers of the format."""
    bits, fraction_bits, emin, _ = FLOATS[dtype]
    size = y.abs()
    exponent = torch.where(size == 0, emin, torch.frexp(size).exponent.sub(1).clamp(min=emin))
    fraction = torch.ldexp(size, fraction_bits - exponent).nan_to_num().to(torch.int32)  # with the leading bit
    code = fraction + ((exponent - emin) << fraction_bits)
    negative = torch.signbit(y) & ~((code == 0) & dtype.endswith("uz"))
    code = torch.where(negative, code | 1 << (bits - 1), code)
    return torch.where(y.isnan(), NAN_CODES.get(dtype, 0), code).to(torch.uint8)


def _widened(scale, scale_dtype):
    """Scales as float32."""
    return scale if scale_dtype == "float32" else scale.to(torch.float32)


def _of_elements(scale, block, shape):
    """The scale of each element: that of its block."""
    for axis, size in ((-2, block[0]), (-1, block[1])):
        length = shape[axis]
        index = torch.arange(length, device=scale.device)
        scale = scale.index_select(axis, index // max(length, 1) if size is None else index // size)
    return scale


def quantize(x, scale, zero_point=None, global_scale=None, *, dtype, block, scale_dtype="float32"):
    wide = _of_elements(_widened(scale, scale_dtype), block, x.shape)
    wide = wide if global_scale is None else wide * global_scale
    t = x.float() / wide
    if dtype in FLOATS:
        codes = _codes(_nearest(t, dtype), dtype)
        return codes.view(getattr(torch, dtype)) if dtype.startswith("float8") else codes
    least, largest = INTEGERS[dtype]
    z = 0 if zero_point is None else _of_elements(zero_point.float(), block, x.shape)
    q = (torch.round(t.clamp(-1024, 1024)) + z).clamp(least, largest)
    return q.nan_to_num().to(torch.int8 if dtype.startswith("int") else torch.uint8)


def _numbers(q, dtype):
    """The numbers that codes stand for, in float32."""
    if dtype not in FLOATS or dtype.startswith("float8"):
        return q.float()
    bits, fraction_bits, emin, _ = FLOATS[dtype]
    size = (q & (1 << (bits - 1)) - 1).int()
    exponent, fraction = size >> fraction_bits, size & (1 << fraction_bits) - 1
    whole = torch.where(exponent == 0, fraction, fraction + (1 << fraction_bits)).float()
    y = torch.ldexp(whole, exponent.clamp(min=1) - 1 + emin - fraction_bits)
    return torch.where(q >> (bits - 1) == 1, -y, y)


def dequantize(
    q, scale, zero_point=None, bias=None, global_scale=None, *, q_dtype, block, scale_dtype="float32", dtype="float32"
):
    y = _numbers(q, q_dtype)
    if zero_point is not None:
        y = y - _of_elements(zero_point.float(), block, y.shape)
    y = y * _of_elements(_widened(scale, scale_dtype), block, y.shape)
    y = y if global_scale is None else y * global_scale
    y = y if bias is None else y + _of_elements(bias, block, y.shape)
    return y.to(getattr(torch, dtype))


def _operand(q, scale, zero_point, q_dtype, block, scale_dtype):
    """The numbers of one operand as float32, times the scales of their blocks. One that is no format of few bits has no scale."""
    y = _numbers(q, q_dtype)
    if zero_point is not None:
        y = y - _of_elements(zero_point.float(), block, y.shape)
    return y if scale is None else y * _of_elements(_widened(scale, scale_dtype), block, y.shape)


def scaled_matmul(
    a, b, scale_a=None, scale_b=None, zero_point_a=None, zero_point_b=None, bias=None, global_scale_a=None,
    global_scale_b=None, *, a_dtype, b_dtype, block_a=None, block_b, scale_dtype_a="float32", scale_dtype_b="float32",
    dtype="bfloat16",
):  # fmt: skip
    left = _operand(a, scale_a, zero_point_a, a_dtype, block_a, scale_dtype_a)
    right = _operand(b, scale_b, zero_point_b, b_dtype, block_b, scale_dtype_b)
    y = left @ right.T
    for g in (global_scale_a, global_scale_b):
        y = y if g is None else y * g
    y = y if bias is None else y + bias.float()
    return y.to(getattr(torch, dtype))


def unpack_int4(packed, *, order="sequential", signed=False):
    y = (packed.unsqueeze(-1) >> torch.arange(0, 32, 4, dtype=torch.int32, device=packed.device)) & 15
    y = y[..., [0, 4, 1, 5, 2, 6, 3, 7]] if order == "awq" else y
    y = torch.where(y >= 8, y - 16, y) if signed else y
    return y.to(torch.int8).reshape(*packed.shape[:-1], 8 * packed.shape[-1])


def swizzle_scales(scales):
    m, c = scales.shape
    whole = torch.nn.functional.pad(scales, (0, -c % 4, 0, -m % 128))
    return whole.reshape(whole.shape[0] // 128, 4, 32, whole.shape[1] // 4, 4).permute(0, 3, 2, 1, 4).reshape(-1)


def _blocks(x, block, reduce):
    """What a function gives for each block, of shape (..., R, C). The last block of an axis is filled up with its last number."""
    for axis, size in ((-1, block[1]), (-2, block[0])):
        length = x.shape[axis]
        size = length if size is None else min(size, length)
        index = torch.arange(-(-length // size) * size, device=x.device).clamp(max=length - 1)
        x = reduce(x.index_select(axis, index).unflatten(axis, (-1, size)), dim=axis)
    return x


def _power_of_two(amax, dtype, rule):
    """The scales in float8_e8m0fnu, from the bits of the largest number of each block."""
    fraction_bits, largest = FLOATS[dtype][1], torch.tensor(FLOATS[dtype][3], dtype=torch.float32).view(torch.int32).item()
    bits = amax.view(torch.int32)
    if rule == "even":
        bits = bits + (1 << (22 - fraction_bits))
    s = (bits >> 23) - (largest >> 23)
    if rule == "rceil":
        s = s + ((bits & 0x7FFFFF) > (largest & 0x7FFFFF)).int()
    codes = torch.where(amax.isnan(), 255, s.clamp(-127, 127) + 127)
    return codes.to(torch.uint8).view(torch.float8_e8m0fnu)


def dynamic_quantize(
    x, global_scale=None, *, dtype, block, scale_dtype="float32", scale_rounding="rceil", eps=0.0, symmetric=True
):
    x = x.float()
    if not symmetric:
        return _with_zero_point(x, dtype, block)
    amax = _blocks(x.abs(), block, torch.amax).clamp(min=eps)
    largest = FLOATS[dtype][3] if dtype in FLOATS else INTEGERS[dtype][1]
    if scale_dtype == "float8_e8m0fnu":
        scale = _power_of_two(amax, dtype, scale_rounding)
    elif scale_dtype == "float8_e4m3fn":
        t = amax / (largest if global_scale is None else largest * global_scale)
        scale = _codes(_nearest(t, scale_dtype), scale_dtype).view(torch.float8_e4m3fn)
    else:
        scale = amax / largest
    wide = _widened(scale, scale_dtype)
    return quantize(x, torch.where(wide == 0, 1.0, wide), None, global_scale, dtype=dtype, block=block), scale


def _with_zero_point(x, dtype, block):
    least, largest = INTEGERS[dtype]
    low, high = _blocks(x, block, torch.amin).clamp(max=0), _blocks(x, block, torch.amax).clamp(min=0)
    scale = (high - low) / (largest - least)
    safe = torch.where(scale > 0, scale, 1.0)
    zero_point = (least - torch.round((low / safe).clamp(min=-1024))).clamp(least, largest)
    zero_point = zero_point.to(torch.int8 if least < 0 else torch.uint8)
    return quantize(x, safe, zero_point, dtype=dtype, block=block), scale, zero_point
