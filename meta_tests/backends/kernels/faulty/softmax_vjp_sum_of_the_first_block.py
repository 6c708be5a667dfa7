"""Sum y c over the first 32 entries of a row alone."""

from ..right.softmax_one_block import *

operation = "softmax_vjp"
says = ("from n = 33 on",)
domain = limit_sizes("softmax", n=70)


@triton.jit
def gradient_kernel(c, x, dx, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64) * n, tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    y, g = e / tl.sum(e, axis=0), tl.load(c + row + at, mask=at < n, other=0.0)
    tl.store(dx + row + at, y * (g - tl.sum(tl.where(at < 32, y * g, 0.0), axis=0)), mask=at < n)


def softmax_vjp(cotangent, x, *, axis):
    moved = x.movedim(axis, -1)
    rows, c = as_rows(moved), as_rows(cotangent.movedim(axis, -1))
    dx = torch.empty_like(rows)
    gradient_kernel[(len(rows),)](c, rows, dx, rows.shape[1], BLOCK=block_for(rows.shape[1]))
    return (dx.reshape(moved.shape).movedim(-1, axis),)
