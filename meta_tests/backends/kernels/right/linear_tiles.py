"""Multiply tiles of 16 by 16, a block of the inner dimension at a time, with every edge masked."""

from .._parts import *

domain = limit_sizes("linear", d_in=70, d_out=70)


@triton.jit
def kernel(x, w, b, y, m, n, k, BIASED: tl.constexpr, TILE: tl.constexpr):
    i, j = (
        tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)[:, None],
        tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :],
    )
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(0, k, TILE):
        across, down = start + tl.arange(0, TILE)[None, :], start + tl.arange(0, TILE)[:, None]
        left = tl.load(x + i * k + across, mask=(i < m) & (across < k), other=0.0)
        right = tl.load(w + j * k + down, mask=(j < n) & (down < k), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    if BIASED:
        total += tl.load(b + j, mask=j < n, other=0.0)
    tl.store(y + i * n + j, total, mask=(i < m) & (j < n))


def linear(x, weight, bias=None):
    rows, (n, k) = as_rows(x), weight.shape
    y = x.new_empty(len(rows), n)
    biased = bias is not None
    given = rows, weight.contiguous(), bias.contiguous() if biased else rows
    kernel[(triton.cdiv(len(rows), 16), triton.cdiv(n, 16))](*given, y, len(rows), n, k, BIASED=biased, TILE=16)
    return y.reshape(*x.shape[:-1], n)
