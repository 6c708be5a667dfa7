"""JAX's numbers in few bits on the CPU: its dtypes of eight and of four bits, which XLA rounds to.

XLA flushes subnormal numbers on a CPU, as JAX documents. The scale 2^-127 is one, so scales in float8_e8m0fnu are left out.
jax.nn.scaled_matmul has no implementation for CPUs.
"""

import jax
import jax.numpy as jnp

framework = "jax"
device = "cpu"
dtypes = ("float32", "bfloat16", "float16")
carriers = {"float4_e2m1fn": "codes"}
FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float4_e2m1fn")
INTEGERS = {"int8": (-128, 127), "int4": (-8, 7), "uint8": (0, 255), "uint4": (0, 15)}
ELEMENTS, SCALES = (*FLOATS, *INTEGERS), ("float32", "float8_e4m3fn")
domain = {
    "quantize": {"dtype": ELEMENTS, "scale_dtype": SCALES},
    "dequantize": {"q_dtype": ELEMENTS, "scale_dtype": SCALES},
    "dynamic_quantize": {"dtype": ELEMENTS, "scale_dtype": SCALES, "symmetric": (True,), "empty": False},
    "scaled_matmul": {
        "a_dtype": (*ELEMENTS, "float32", "bfloat16", "float16"), "b_dtype": ELEMENTS, "scale_dtype_a": SCALES,
        "scale_dtype_b": SCALES,
    },
}  # fmt: skip


def _numbers(q, dtype):
    """An array of JAX's dtype. Numbers of four bits come as codes."""
    return jax.lax.bitcast_convert_type(q.astype(jnp.uint4), dtype) if dtype == "float4_e2m1fn" else q


def _of_elements(scale, block, shape):
    """The scale of each element in float32: that of its block."""
    for axis, size in ((-2, block[0]), (-1, block[1])):
        scale = jnp.repeat(scale, size or max(shape[axis], 1), axis=axis)
    return scale.astype(jnp.float32)[..., : shape[-2], : shape[-1]]


def _rounded(t, dtype):
    """The nearest number of a floating format, which XLA finds; its cast alone would not saturate."""
    largest = float(jnp.finfo(dtype).max)
    y = jnp.clip(t, -largest, largest).astype(dtype)
    return jax.lax.bitcast_convert_type(y, jnp.uint4).astype(jnp.uint8) if dtype == "float4_e2m1fn" else y


def quantize(x, scale, zero_point=None, global_scale=None, *, dtype, block, scale_dtype="float32"):
    wide = _of_elements(scale, block, x.shape)
    t = x.astype(jnp.float32) / (wide if global_scale is None else wide * global_scale)
    if dtype in FLOATS:
        return _rounded(t, dtype)
    z = 0 if zero_point is None else _of_elements(zero_point, block, x.shape)
    return jnp.clip(jnp.round(t) + z, *INTEGERS[dtype]).astype(jnp.int8 if dtype.startswith("int") else jnp.uint8)


def dequantize(
    q, scale, zero_point=None, bias=None, global_scale=None, *, q_dtype, block, scale_dtype="float32", dtype="float32"
):
    y = _numbers(q, q_dtype).astype(jnp.float32)
    if zero_point is not None:
        y = y - _of_elements(zero_point, block, y.shape)
    y = y * _of_elements(scale, block, y.shape)
    y = y if global_scale is None else y * global_scale
    y = y if bias is None else y + _of_elements(bias, block, y.shape)
    return y.astype(dtype)


def dynamic_quantize(x, global_scale=None, *, dtype, block, scale_dtype="float32", eps=0.0):
    whole = [size or length for size, length in zip(block, x.shape[-2:], strict=True)]
    widths = [(0, -length % size) for size, length in zip(whole, x.shape[-2:], strict=True)]
    filled = jnp.pad(jnp.abs(x.astype(jnp.float32)), [(0, 0)] * (x.ndim - 2) + widths)
    rows, columns = (length // size for size, length in zip(whole, filled.shape[-2:], strict=True))
    amax = filled.reshape(*x.shape[:-2], rows, whole[0], columns, whole[1]).max((-3, -1))
    largest = float(jnp.finfo(dtype).max) if dtype in FLOATS else INTEGERS[dtype][1]
    scale = jnp.maximum(amax, eps) / (largest if global_scale is None else largest * global_scale)
    scale = scale if scale_dtype == "float32" else _rounded(scale, scale_dtype)
    wide = scale.astype(jnp.float32)
    return quantize(x, jnp.where(wide == 0, 1.0, wide), None, global_scale, dtype=dtype, block=block), scale


def _operand(q, scale, zero_point, global_scale, dtype, block):
    """The numbers of one operand in float32. One that is no format of few bits has no scale."""
    if scale is None:
        return q.astype(jnp.float32)
    return dequantize(q, scale, zero_point, None, global_scale, q_dtype=dtype, block=block)


def scaled_matmul(
    a, b, scale_a=None, scale_b=None, zero_point_a=None, zero_point_b=None, bias=None, global_scale_a=None,
    global_scale_b=None, *, a_dtype, b_dtype, block_a=None, block_b, scale_dtype_a="float32", scale_dtype_b="float32",
    dtype="bfloat16",
):  # fmt: skip
    left = _operand(a, scale_a, zero_point_a, global_scale_a, a_dtype, block_a)
    right = _operand(b, scale_b, zero_point_b, global_scale_b, b_dtype, block_b)
    y = left @ right.T
    return (y if bias is None else y + bias).astype(dtype)
