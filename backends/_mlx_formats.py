"""MLX's numbers in few bits on the CPU: mx.quantize, mx.dequantize, mx.quantized_matmul. Words hold eight codes of four bits.

The last block of a row may be shorter, which MLX refuses: such rows are filled up with zeros. They are filled up to 32 numbers
also where a block has 16, since an odd number of blocks is refused too.
"""

import mlx.core as mx

MX, NVFP4, AFFINE = ("mxfp4", "mxfp8"), "nvfp4", "affine"
BITS = {"float4_e2m1fn": 4, "float8_e4m3fn": 8, "uint4": 4, "uint8": 8}
carriers = {"float4_e2m1fn": "packed32", "uint4": "packed32"}


def _mode(name, scale_dtype):
    if name.startswith("uint"):
        return AFFINE
    return MX[BITS[name] // 8] if scale_dtype == "float8_e8m0fnu" else NVFP4


def _filled(x, columns):
    """Rows with zeros behind them."""
    return mx.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, columns - x.shape[-1])])


def _whole(length, size):
    """How many numbers a row has that is filled up."""
    return -(-length // max(size, 32)) * max(size, 32)


def _in_words(codes, name, columns):
    """Rows of codes as MLX has them: in words of 32 bits, which fill whole blocks."""
    if BITS[name] == 8:
        return mx.view(_filled(codes, columns), mx.uint32)
    return _filled(codes, columns // 8)


def dynamic_quantize(x, *, dtype, block, scale_dtype):
    size, k = block[1], x.shape[-1]
    with mx.stream(mx.cpu):
        whole = _filled(x, _whole(k, size))
        q, scale = mx.quantize(whole, group_size=size, bits=BITS[dtype], mode=_mode(dtype, scale_dtype))
        return (q[..., : k // 8] if BITS[dtype] == 4 else mx.view(q, mx.uint8)[..., :k]), scale[..., : -(-k // size)]


def dequantize(q, scale, bias=None, *, q_dtype, block, scale_dtype, dtype="float32"):
    size, bits, mode = block[1], BITS[q_dtype], _mode(q_dtype, scale_dtype)
    k = q.shape[-1] * (8 if bits == 4 else 1)
    with mx.stream(mx.cpu):
        columns = _whole(k, size)
        scale = _filled(scale, columns // size)
        bias = None if mode != AFFINE else mx.zeros_like(scale) if bias is None else _filled(bias, columns // size)
        words = _in_words(q, q_dtype, columns)
        y = mx.dequantize(words, scale, bias, group_size=size, bits=bits, mode=mode, dtype=getattr(mx, dtype))
        return y[..., :k]


def scaled_matmul(
    a, b, scale_b=None, zero_point_b=None, *, a_dtype, b_dtype, block_a=None, block_b, scale_dtype_b, dtype="bfloat16"
):
    size, bits, mode = block_b[1], BITS[b_dtype], _mode(b_dtype, scale_dtype_b)
    with mx.stream(mx.cpu):
        columns = _whole(a.shape[-1], size)
        a = a if dtype == a_dtype else a.astype(mx.float32)  # the product has a's dtype
        bias = None if mode != AFFINE else mx.zeros_like(scale_b) if zero_point_b is None else -(zero_point_b * scale_b)
        scale, bias = (x if x is None else _filled(x, columns // size) for x in (scale_b, bias))
        words = _in_words(b, b_dtype, columns)
        y = mx.quantized_matmul(_filled(a, columns), words, scale, bias, group_size=size, bits=bits, mode=mode)
        return y.astype(getattr(mx, dtype))
