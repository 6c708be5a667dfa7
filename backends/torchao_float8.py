"""torchao's float8 on the CPU, with scales in float32: the functions that its Float8Tensor is made by."""

import torch
from torchao.quantization.quant_primitives import (
    _choose_scale_float8,
    _dequantize_affine_float8,
    _quantize_affine_float8,
)

from ._torchao_blocks import BLOCKS, block_size, cropped, whole

framework = "torch"
device = "cpu"
dtypes = ("float32", "bfloat16", "float16")
ELEMENTS, SCALES = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), ("float32",)
domain = {
    "quantize": {"dtype": ELEMENTS, "block": BLOCKS, "scale_dtype": SCALES, "empty": False},
    "dequantize": {"q_dtype": ELEMENTS, "block": BLOCKS, "scale_dtype": SCALES, "empty": False},
    "dynamic_quantize": {"dtype": ELEMENTS, "block": BLOCKS, "scale_dtype": SCALES, "empty": False},
}


def quantize(x, scale, *, dtype, block):
    q = _quantize_affine_float8(whole(x, *block_size(block, x.shape)[-2:]), scale, getattr(torch, dtype))
    return cropped(q, *x.shape[-2:])


def dequantize(q, scale, *, q_dtype, block, dtype="float32"):
    y = _dequantize_affine_float8(whole(q, *block_size(block, q.shape)[-2:]), scale, getattr(torch, dtype))
    return cropped(y, *q.shape[-2:])


def dynamic_quantize(x, *, dtype, block, eps=0.0):
    sizes = block_size(block, x.shape)
    filled = whole(x.float(), *sizes[-2:])  # the scale is computed in the dtype of the array
    scale = _choose_scale_float8(filled, sizes, getattr(torch, dtype), hp_value_lb=eps or None)
    return cropped(_quantize_affine_float8(filled, scale, getattr(torch, dtype)), *x.shape[-2:]), scale
