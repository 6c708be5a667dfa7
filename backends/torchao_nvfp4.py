"""torchao's NVFP4 on the CPU: blocks of 16 numbers of four bits, whose scale is a float8_e4m3fn, and a global scale."""

import torch
import torch.nn.functional as F
from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, nvfp4_quantize

from ._torchao_blocks import cropped, whole

framework = "torch"
device = "cpu"
dtypes = ("float32", "bfloat16")
carriers = {"float4_e2m1fn": "packed"}
conventions = {"small_fp8_scale": "clamped"}
SIZE = 16
ELEMENTS, BLOCK, SCALES = ("float4_e2m1fn",), ((1, SIZE),), ("float8_e4m3fn",)
domain = {
    "dynamic_quantize": {
        "dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "symmetric": (True,), "eps": (0.0,), "empty": False,
    },
    "dequantize": {"q_dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "empty": False},
    "scaled_matmul": {
        "a_dtype": ("float32", "bfloat16", "float16"), "b_dtype": ELEMENTS, "block_a": (None,), "block_b": BLOCK,
        "scale_dtype_a": ("float32",), "scale_dtype_b": SCALES, "empty": False,
    },
}  # fmt: skip


def dynamic_quantize(x, global_scale=None, *, dtype, block, scale_dtype):
    filled = whole(x, 1, SIZE)
    scale, q = nvfp4_quantize(filled, SIZE, global_scale)
    return cropped(q, x.shape[-2], x.shape[-1] // 2), scale.reshape(*x.shape[:-1], filled.shape[-1] // SIZE)


def _tensor(q, scale, global_scale, dtype):
    return NVFP4Tensor(whole(q, 1, SIZE // 2), scale, SIZE, dtype, global_scale)


def dequantize(q, scale, global_scale=None, *, q_dtype, block, scale_dtype, dtype="float32"):
    y = _tensor(q, scale, global_scale, torch.float32).dequantize(getattr(torch, dtype))
    return cropped(y, q.shape[-2], q.shape[-1] * 2)


def scaled_matmul(
    a, b, scale_b, bias=None, global_scale_b=None, *, a_dtype, b_dtype, block_a=None, block_b, scale_dtype_b, dtype="bfloat16"
):
    a = a if dtype == a_dtype else a.float()  # the product has a's dtype
    bias = None if bias is None else bias.to(a.dtype)
    y = F.linear(whole(a, 1, SIZE), _tensor(b, scale_b, global_scale_b, a.dtype), bias)
    return y.to(getattr(torch, dtype))
