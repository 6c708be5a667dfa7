"""Read a row in blocks of 16, and do not rescale the sum when the maximum grows."""

from .._parts import *

operation = "log_softmax"
says = ("not rescaled",)
domain = limit_sizes("log_softmax", n=100)


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0).to(tl.int64) * n, tl.arange(0, BLOCK)
    top, total = float("-inf"), 0.0
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < n, other=float("-inf"))
        top = tl.maximum(top, tl.max(v, axis=0))
        total += tl.sum(tl.exp(v - tl.where(top == float("-inf"), 0.0, top)), axis=0)
    log = tl.log(total)
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < n, other=0.0)
        tl.store(y + row + start + lanes, v - top - log, mask=start + lanes < n)


def log_softmax_rows(x):
    y = torch.empty_like(x)
    kernel[(len(x),)](x, y, x.shape[1], BLOCK=16)
    return y


def log_softmax(x, *, axis):
    return over_axis(log_softmax_rows, x, axis)
