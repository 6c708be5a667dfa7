"""bitsandbytes' LLM.int8() on the CPU: int8_vectorwise_quant and int8_scaled_mm, with one scale for each row.

Its scales are the largest numbers of the rows, 127 times ours. Its other formats (NF4, FP4, and 8 bits by a table of codes) are
none of the suite's.
"""

import bitsandbytes  # noqa: F401 - registers torch.ops.bitsandbytes
import torch

framework = "torch"
device = "cpu"
dtypes = ("float32", "bfloat16", "float16")
ELEMENTS, BLOCK, SCALES = ("int8",), ((1, None),), ("float32",)
domain = {
    "dynamic_quantize": {
        "dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "symmetric": (True,), "eps": (0.0,), "empty": False,
    },
    "scaled_matmul": {
        "a_dtype": ELEMENTS, "b_dtype": ELEMENTS, "block_a": BLOCK, "block_b": BLOCK, "scale_dtype_a": SCALES,
        "scale_dtype_b": SCALES, "empty": False,
    },
}  # fmt: skip


def dynamic_quantize(x, *, dtype, block):
    q, amax, _ = torch.ops.bitsandbytes.int8_vectorwise_quant(x.reshape(-1, x.shape[-1]))
    return q.reshape(x.shape), amax.reshape(*x.shape[:-1], 1) / 127


def scaled_matmul(a, b, scale_a=None, scale_b=None, bias=None, *, a_dtype, b_dtype, block_a, block_b, dtype="bfloat16"):
    rows = a.reshape(-1, a.shape[-1])
    y = torch.ops.bitsandbytes.int8_scaled_mm(
        rows, b, scale_a.reshape(-1) * 127, scale_b.reshape(-1) * 127, bias=bias, dtype=getattr(torch, dtype)
    )
    return y.reshape(*a.shape[:-1], len(b))
