"""Add the products of blocks of 16 features in float16."""

from .._parts import *

operation = "linear"
says = ("float16", "sum")
domain = limit_sizes("linear", d_in=70, d_out=70)


@triton.jit
def kernel(x, w, y, m, n, k, TILE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)[:, None]
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), tl.float16)
    for start in range(0, k, TILE):
        across, down = start + tl.arange(0, TILE)[None, :], start + tl.arange(0, TILE)[:, None]
        left = tl.load(x + i * k + across, mask=(i < m) & (across < k), other=0.0)
        right = tl.load(w + j * k + down, mask=(j < n) & (down < k), other=0.0)
        total += tl.dot(left, right, input_precision="ieee").to(tl.float16)
    tl.store(y + i * n + j, total.to(tl.float32), mask=(i < m) & (j < n))


def linear(x, weight, bias=None):
    rows, (n, k) = as_rows(x), weight.shape
    y = x.new_empty(len(rows), n)
    kernel[(triton.cdiv(len(rows), 16), triton.cdiv(n, 16))](rows, weight.contiguous(), y, len(rows), n, k, TILE=16)
    return (y if bias is None else y + bias).reshape(*x.shape[:-1], n)
