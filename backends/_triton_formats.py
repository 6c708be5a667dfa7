"""Kernels for numbers in few bits: float8_e4m3fn with a scale for each block of a row, and integers of four bits in words."""

import torch
import triton
import triton.language as tl

__all__ = ["FORMATS", "carriers", "dequantize", "dynamic_quantize"]
ROWS, WIDTH = 32, 128  # rows of one program, and of these the numbers for one program of _dequantize_int4
BLOCKS = ((1, 16), (1, 32), (1, 128))
carriers = {"float8_e4m3fn": "codes", "int4": "packed32", "uint4": "packed32"}
FORMATS = {
    "dynamic_quantize": {
        "dtype": ("float8_e4m3fn",), "block": BLOCKS, "scale_dtype": ("float32",), "symmetric": (True,), "empty": False,
    },
    "dequantize": {"q_dtype": ("int4", "uint4"), "block": BLOCKS, "scale_dtype": ("float32",), "empty": False},
}  # fmt: skip


@triton.jit
def _to_codes(t):
    """The codes of the nearest numbers of float8_e4m3fn, ties to even."""
    bits = t.to(tl.int32, bitcast=True)
    exponent = tl.maximum((bits >> 23 & 255) - 127, -6)
    steps = tl.abs(t) * (130 - exponent << 23).to(tl.float32, bitcast=True)  # 8 to 16, below 8 for subnormal numbers
    whole = steps + 8388608.0 - 8388608.0  # from 2^23 on, float32 has integers alone
    return whole.to(tl.int32) + (exponent + 6 << 3) + ((bits >> 31 & 1) << 7)


@triton.jit
def _quantize_blocks(x, q, scale, eps, count, k, blocks, rows: tl.constexpr, size: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    block = tl.program_id(1)
    at = block * size + tl.arange(0, size)[None, :]
    there = (row < count) & (at < k)
    v = tl.load(x + row * k + at, mask=there, other=0.0).to(tl.float32)
    top = tl.maximum(tl.max(tl.abs(v), axis=1, keep_dims=True), eps)
    s = tl.div_rn(top, tl.zeros_like(top) + 448.0)
    tl.store(scale + row * blocks + block, s, mask=row < count)
    t = tl.div_rn(v, tl.where(s == 0, 1.0, s) + tl.zeros_like(v))
    tl.store(q + row * k + at, _to_codes(tl.minimum(tl.maximum(t, -448.0), 448.0)).to(tl.uint8), mask=there)


@triton.jit
def _dequantize_int4(
    words, scale, zero_point, y, count, k, blocks, size, signed: tl.constexpr, rows: tl.constexpr, width: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * rows + tl.arange(0, rows)[:, None]
    at = tl.program_id(1) * width + tl.arange(0, width)[None, :]
    there = (row < count) & (at < k)
    n = tl.load(words + row * (k // 8) + at // 8, mask=there, other=0) >> at % 8 * 4 & 15
    if signed:
        n = tl.where(n > 7, n - 16, n)
    place = row * blocks + at // size
    n -= tl.load(zero_point + place, mask=there, other=0).to(tl.int32)
    tl.store(y + row * k + at, n.to(tl.float32) * tl.load(scale + place, mask=there, other=0.0), mask=there)


def dynamic_quantize(x, *, dtype, block, eps=0.0):
    k, size = x.shape[-1], block[1]
    blocks = triton.cdiv(k, size)
    q = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    scale = torch.empty((*x.shape[:-1], blocks), dtype=torch.float32, device=x.device)
    count = x.numel() // k
    _quantize_blocks[(triton.cdiv(count, ROWS), blocks)](x.contiguous(), q, scale, eps, count, k, blocks, rows=ROWS, size=size)
    return q, scale


def dequantize(q, scale, zero_point=None, *, q_dtype, block, dtype="float32"):
    k, blocks = q.shape[-1] * 8, scale.shape[-1]
    words = q.contiguous().view(torch.int32)
    zeros = torch.zeros_like(scale, dtype=torch.int8) if zero_point is None else zero_point
    y = torch.empty((*q.shape[:-1], k), dtype=torch.float32, device=q.device)
    count = y.numel() // k
    grid, options = (triton.cdiv(count, ROWS), triton.cdiv(k, WIDTH)), {"rows": ROWS, "width": WIDTH}
    arrays = words, scale.contiguous(), zeros.contiguous(), y
    _dequantize_int4[grid](*arrays, count, k, blocks, block[1], signed=q_dtype == "int4", **options)
    return y.to(getattr(torch, dtype))
