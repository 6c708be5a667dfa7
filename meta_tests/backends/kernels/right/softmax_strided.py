"""Take the rows where they lie, with the stride of the axis, and four rows to a program."""

from .._parts import *

domain = limit_sizes("softmax", n=100)


@triton.jit
def kernel(x, y, rows, n, inner, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i, at = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK)[None, :]
    place = (i // inner).to(tl.int64) * n * inner + i % inner + at * inner
    there = (i < rows) & (at < n)
    v = tl.load(x + place, mask=there, other=float("-inf"))
    top = tl.max(v, axis=1, keep_dims=True)
    e = tl.exp(v - tl.where(i < rows, top, 0.0))
    total = tl.sum(e, axis=1, keep_dims=True)
    tl.store(y + place, e / tl.where(i < rows, total, 1.0), mask=there)


def softmax(x, *, axis):
    x = x.contiguous()
    axis, n = axis % x.ndim, x.shape[axis]
    inner, y = math.prod(x.shape[axis + 1 :]), torch.empty_like(x)
    rows = math.prod(x.shape[:axis]) * inner
    kernel[(triton.cdiv(rows, 4),)](x, y, rows, n, inner, ROWS=4, BLOCK=block_for(n))
    return y
