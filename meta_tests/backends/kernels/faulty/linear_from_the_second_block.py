"""Begin the loop over the inner dimension with its second block of 16."""

from .._parts import *

operation = "linear"
says = ("first 16",)
domain = limit_sizes("linear", d_in=70, d_out=70)


@triton.jit
def kernel(x, w, y, m, n, k, FIRST: tl.constexpr, LAST: tl.constexpr, TILE: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)[:, None]
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for start in range(FIRST, k - LAST, TILE):
        across, down = start + tl.arange(0, TILE)[None, :], start + tl.arange(0, TILE)[:, None]
        left = tl.load(x + i * k + across, mask=(i < m) & (across < k), other=0.0)
        right = tl.load(w + j * k + down, mask=(j < n) & (down < k), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(y + i * n + j, total, mask=(i < m) & (j < n))


def multiply(x, weight, bias, first, last):
    rows, (n, k) = as_rows(x), weight.shape
    y = x.new_empty(len(rows), n)
    grid = triton.cdiv(len(rows), 16), triton.cdiv(n, 16)
    kernel[grid](rows, weight.contiguous(), y, len(rows), n, k, FIRST=first, LAST=last, TILE=16)
    return (y if bias is None else y + bias).reshape(*x.shape[:-1], n)


def linear(x, weight, bias=None):
    return multiply(x, weight, bias, 16, 0)
