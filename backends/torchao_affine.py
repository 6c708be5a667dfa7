"""torchao's integers of few bits on the CPU: choose_qparams_affine, quantize_affine and dequantize_affine.

Scales are computed in the dtype of the array, so arrays are float32.
"""

import torch
from torchao.quantization.quant_primitives import (
    MappingType,
    choose_qparams_affine,
    dequantize_affine,
    quantize_affine,
)

from ._torchao_blocks import BLOCKS, block_size, cropped, whole

framework = "torch"
device = "cpu"
dtypes = ("float32",)
conventions = {"integer_divisor": "127.5", "floored": "scale"}
ELEMENTS, SCALES = ("int8", "int4", "uint8", "uint4"), ("float32",)
RANGES = {
    "int8": (torch.int8, -128, 127),
    "int4": (torch.int8, -8, 7),
    "uint8": (torch.uint8, 0, 255),
    "uint4": (torch.uint8, 0, 15),
}
domain = {
    "quantize": {"dtype": ELEMENTS, "block": BLOCKS, "scale_dtype": SCALES, "empty": False},
    "dequantize": {"q_dtype": ELEMENTS, "block": BLOCKS, "scale_dtype": SCALES, "empty": False},
    "dynamic_quantize": {"dtype": ELEMENTS, "block": BLOCKS, "scale_dtype": SCALES, "empty": False},
}


def _zeros(zero_point, scale):
    """Zero points in int32. quantize_affine cannot do without them."""
    return torch.zeros(scale.shape, dtype=torch.int32) if zero_point is None else zero_point.to(torch.int32)


def quantize(x, scale, zero_point=None, *, dtype, block):
    sizes = block_size(block, x.shape)
    filled = whole(x, *sizes[-2:])
    q = quantize_affine(filled, sizes, scale, _zeros(zero_point, scale), *RANGES[dtype])
    return cropped(q, *x.shape[-2:])


def dequantize(q, scale, zero_point=None, *, q_dtype, block, dtype="float32"):
    sizes = block_size(block, q.shape)
    zeros = None if zero_point is None else zero_point.to(torch.int32)
    y = dequantize_affine(whole(q, *sizes[-2:]), sizes, scale, zeros, *RANGES[q_dtype], output_dtype=getattr(torch, dtype))
    return cropped(y, *q.shape[-2:])


def dynamic_quantize(x, *, dtype, block, eps=0.0, symmetric=True):
    sizes = block_size(block, x.shape)
    filled = whole(x, *sizes[-2:])
    mapping = MappingType.SYMMETRIC if symmetric else MappingType.ASYMMETRIC
    scale, zero_point = choose_qparams_affine(filled, mapping, sizes, *RANGES[dtype], eps=eps, keepdim=True)
    q = cropped(quantize_affine(filled, sizes, scale, zero_point, *RANGES[dtype]), *x.shape[-2:])
    return (q, scale) if symmetric else (q, scale, zero_point.to(q.dtype))
