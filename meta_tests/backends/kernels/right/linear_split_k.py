"""Split the inner dimension among programs, which add their sums to zeros by atomic additions."""

from .._parts import *

domain = limit_sizes("linear", d_in=70, d_out=100)


@triton.jit
def kernel(x, w, y, m, n, k, TILE: tl.constexpr, INNER: tl.constexpr):
    i, j = (
        tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)[:, None],
        tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :],
    )
    across, down = (
        tl.arange(0, INNER)[None, :] + tl.program_id(2) * INNER,
        tl.arange(0, INNER)[:, None] + tl.program_id(2) * INNER,
    )
    left = tl.load(x + i * k + across, mask=(i < m) & (across < k), other=0.0)
    right = tl.load(w + j * k + down, mask=(j < n) & (down < k), other=0.0)
    tl.atomic_add(y + i * n + j, tl.dot(left, right, input_precision="ieee"), mask=(i < m) & (j < n))


def linear(x, weight, bias=None):
    rows, (n, k) = as_rows(x), weight.shape
    y = x.new_zeros(len(rows), n)
    grid = triton.cdiv(len(rows), 16), triton.cdiv(n, 16), triton.cdiv(k, 64)
    kernel[grid](rows, weight.contiguous(), y, len(rows), n, k, TILE=16, INNER=64)
    return (y if bias is None else y + bias).reshape(*x.shape[:-1], n)
