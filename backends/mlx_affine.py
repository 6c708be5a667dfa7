"""MLX's mode affine on the CPU: integers of four or eight bits, with a scale and a bias for each block. Its mx.quantize has a
rule of its own, which is not dynamic_quantize.
"""

from ._mlx_formats import dequantize, scaled_matmul  # noqa: F401 - the operations of this backend

framework = "mlx"
dtypes = ("float32", "bfloat16", "float16")
carriers = {"uint4": "packed32"}
ELEMENTS, BLOCK, SCALES = ("uint4", "uint8"), ((1, 32), (1, 128)), ("float32",)
domain = {
    "dequantize": {"q_dtype": ELEMENTS, "block": BLOCK, "scale_dtype": SCALES, "empty": False},
    "scaled_matmul": {
        "a_dtype": ("float32",), "b_dtype": ELEMENTS, "block_a": (None,), "block_b": BLOCK, "scale_dtype_a": SCALES,
        "scale_dtype_b": SCALES, "empty": False,
    },
}  # fmt: skip
