"""Launch a grid of rows by columns, and read the numbers of a program as column and row."""

from .._parts import *

operation = "linear"
says = ("never written",)
domain = limit_sizes("linear", d_in=70, d_out=70)


@triton.jit
def kernel(x, w, y, m, n, k, TILE: tl.constexpr):
    i = tl.program_id(1).to(tl.int64) * TILE + tl.arange(0, TILE)[:, None]
    j = tl.program_id(0) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, k, TILE):
        across, down = start + tl.arange(0, TILE)[None, :], start + tl.arange(0, TILE)[:, None]
        left = tl.load(x + i * k + across, mask=(i < m) & (across < k), other=0.0)
        right = tl.load(w + j * k + down, mask=(j < n) & (down < k), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(y + i * n + j, total, mask=(i < m) & (j < n))


def linear(x, weight, bias=None):
    rows, (n, k) = as_rows(x), weight.shape
    y = x.new_empty(len(rows), n)
    kernel[(triton.cdiv(len(rows), 16), triton.cdiv(n, 16))](rows, weight.contiguous(), y, len(rows), n, k, TILE=16)
    return (y if bias is None else y + bias).reshape(*x.shape[:-1], n)
