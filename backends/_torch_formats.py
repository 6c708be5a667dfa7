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
    if dtype in INTEGERS or dtype.startswith("float8"):
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


def unpack_int4(packed, *, order="sequential", signed=False):
    y = (packed.unsqueeze(-1) >> torch.arange(0, 32, 4, dtype=torch.int32, device=packed.device)) & 15
    y = y[..., [0, 4, 1, 5, 2, 6, 3, 7]] if order == "awq" else y
    y = torch.where(y >= 8, y - 16, y) if signed else y
    return y.to(torch.int8).reshape(*packed.shape[:-1], 8 * packed.shape[-1])


def swizzle_scales(scales):
    m, c = scales.shape
    whole = torch.nn.functional.pad(scales, (0, -c % 4, 0, -m % 128))
    return whole.reshape(whole.shape[0] // 128, 4, 32, whole.shape[1] // 4, 4).permute(0, 3, 2, 1, 4).reshape(-1)
