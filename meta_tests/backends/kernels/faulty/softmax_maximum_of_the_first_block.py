"""Subtract the maximum of the first 16 entries of a row."""

from .._parts import *

operation = "softmax"
says = ("maximum", "first 16")
domain = limit_sizes("softmax", n=100)


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0).to(tl.int64) * n, tl.arange(0, BLOCK)
    top = tl.max(tl.load(x + row + lanes, mask=lanes < n, other=float("-inf")), axis=0)
    total = 0.0
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < n, other=float("-inf"))
        total += tl.sum(tl.exp(v - top), axis=0)
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < n, other=0.0)
        tl.store(y + row + start + lanes, tl.exp(v - top) / total, mask=start + lanes < n)


def softmax_rows(x):
    y = torch.empty_like(x)
    kernel[(len(x),)](x, y, x.shape[1], BLOCK=16)
    return y


def softmax(x, *, axis):
    return over_axis(softmax_rows, x, axis)
