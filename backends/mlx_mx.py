"""MLX's modes mxfp4 and mxfp8 on the CPU: blocks of 32 numbers, whose scale is a power of two."""

from ._mlx_formats import *

framework = "mlx"
dtypes = ("float32", "bfloat16", "float16")
conventions = {"fp4_ties": "toward zero"}
ELEMENTS, BLOCK, SCALES = ("float4_e2m1fn", "float8_e4m3fn"), ((1, 32),), ("float8_e8m0fnu",)
domain = {
    "dynamic_quantize": {
        "dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "scale_rounding": ("rceil",), "symmetric": (True,),
        "eps": (0.0,), "empty": False,
    },
    "dequantize": {"q_dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "empty": False},
    "scaled_matmul": {
        "a_dtype": ("float32", "bfloat16", "float16"), "b_dtype": ELEMENTS, "block_a": (None,), "block_b": BLOCK,
        "scale_dtype_a": ("float32",), "scale_dtype_b": SCALES, "empty": False,
    },
}  # fmt: skip
