"""Divide by the length, without epsilon: a row of zeros is divided by zero."""

from .._parts import *

operation = "l2_norm"
says = ("eps", "left out")
domain = limit_sizes("l2_norm", d=100)


@triton.jit
def kernel(x, y, d, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64) * d, tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < d, other=0.0)
    tl.store(y + row + at, v / tl.sqrt(tl.sum(v * v, axis=0)), mask=at < d)


def l2_norm(x, *, eps=1e-6):
    rows = as_rows(x)
    y = torch.empty_like(rows)
    kernel[(len(rows),)](rows, y, x.shape[-1], BLOCK=block_for(x.shape[-1]))
    return y.reshape(x.shape)
