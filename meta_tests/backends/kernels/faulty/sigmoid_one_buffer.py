"""Write into one buffer for each shape, which the next call overwrites."""

from .._parts import *

domain = limit_sizes("sigmoid")

operation = "sigmoid"
says = ("overwrites",)
buffers = {}


@triton.jit
def kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < count, other=0.0)
    e = tl.exp(-tl.abs(v))
    tl.store(y + at, tl.where(v < 0, e, 1.0) / (1 + e), mask=at < count)


def sigmoid(x):
    x = x.contiguous()
    y = buffers.setdefault(tuple(x.shape), torch.empty_like(x))
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
