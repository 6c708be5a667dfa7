"""torchao's MX formats on the CPU: blocks of 32 numbers, whose scale is a power of two.

Its products on a CPU are emulated: they dequantize, and call PyTorch. So they are left out.
"""

import torch
from torchao.prototype.mx_formats.config import ScaleCalculationMode
from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx
from torchao.prototype.mx_formats.utils import to_blocked

from ._torchao_blocks import FORMATS, cropped, whole

framework = "torch"
device = "cpu"
dtypes = ("float32", "bfloat16")
carriers = {"float4_e2m1fn": "packed"}
SIZE = 32
ELEMENTS, BLOCK, SCALES = tuple(FORMATS), ((1, SIZE),), ("float8_e8m0fnu",)
domain = {
    "dynamic_quantize": {
        "dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "scale_rounding": ("rceil", "floor", "even"),
        "symmetric": (True,), "eps": (0.0,), "empty": False,
    },
    "dequantize": {
        "q_dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "dtype": ("float32", "bfloat16"), "empty": False,
    },
}  # fmt: skip


def _filled(codes, name):
    """Rows of codes that fill whole blocks."""
    return whole(codes, 1, SIZE // 2 if name.startswith("float4") else SIZE)


def dynamic_quantize(x, *, dtype, block, scale_dtype, scale_rounding="rceil"):
    mode = ScaleCalculationMode[scale_rounding.upper()]
    scale, q = to_mx(whole(x, 1, SIZE), FORMATS[dtype], SIZE, mode)
    return cropped(q, x.shape[-2], x.shape[-1] // (2 if dtype.startswith("float4") else 1)), scale


def dequantize(q, scale, *, q_dtype, block, scale_dtype, dtype="float32"):
    filled = _filled(q, q_dtype)
    y = to_dtype(filled, scale, FORMATS[q_dtype], SIZE, getattr(torch, dtype))
    return cropped(y, q.shape[-2], q.shape[-1] * (2 if q_dtype.startswith("float4") else 1))


def swizzle_scales(scales):
    return to_blocked(scales)
