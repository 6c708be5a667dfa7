"""MLX's mode nvfp4 on the CPU: blocks of 16 numbers of four bits, whose scale is a float8_e4m3fn."""

from ._mlx_formats import *

framework = "mlx"
dtypes = ("float32", "bfloat16", "float16")
conventions = {"fp4_ties": "toward zero"}
ELEMENTS, BLOCK, SCALES = ("float4_e2m1fn",), ((1, 16),), ("float8_e4m3fn",)
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
