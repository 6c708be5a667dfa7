"""Read a row in blocks: once for the maximum, once for the sum, once to subtract both."""

from .._parts import *

domain = limit_sizes("log_softmax", n=100)


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0).to(tl.int64) * n, tl.arange(0, BLOCK)
    top = float("-inf")
    for start in range(0, n, BLOCK):
        top = tl.maximum(top, tl.max(tl.load(x + row + start + lanes, mask=start + lanes < n, other=float("-inf")), axis=0))
    sums = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        sums += tl.exp(tl.load(x + row + start + lanes, mask=start + lanes < n, other=float("-inf")) - top)
    log = tl.log(tl.sum(sums, axis=0))
    for start in range(0, n, BLOCK):
        v = tl.load(x + row + start + lanes, mask=start + lanes < n, other=0.0)
        tl.store(y + row + start + lanes, v - top - log, mask=start + lanes < n)


def log_softmax_rows(x):
    y = torch.empty_like(x)
    kernel[(len(x),)](x, y, x.shape[1], BLOCK=128)
    return y


def log_softmax(x, *, axis):
    return over_axis(log_softmax_rows, x, axis)
