"""Divide the sum of the squares by the length of the block, which is d rounded up to a power of two."""

from .._parts import *

operation = "rms_norm"
says = ("power of two",)
domain = limit_sizes("rms_norm", d=100)


@triton.jit
def kernel(x, weight, y, d, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64) * d, tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < d, other=0.0)
    r = tl.rsqrt(tl.sum(v * v, axis=0) / BLOCK + eps)
    tl.store(y + row + at, v * r * tl.load(weight + at, mask=at < d, other=0.0), mask=at < d)


def rms_norm(x, weight, *, eps):
    rows = as_rows(x)
    y = torch.empty_like(rows)
    kernel[(len(rows),)](rows, weight.contiguous(), y, x.shape[-1], eps, BLOCK=block_for(x.shape[-1]))
    return y.reshape(x.shape)
