"""Read a view of two dimensions by its strides, without a copy."""

from .._parts import *

domain = limit_sizes("sigmoid")


@triton.jit
def kernel(x, y, rows, columns, row_step, column_step, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + i * row_step + j.to(tl.int64) * column_step, mask=j < columns, other=0.0)
        e = tl.exp(-tl.abs(v))
        tl.store(y + i * columns + j, tl.where(v < 0, e, 1.0) / (1 + e), mask=j < columns)


def sigmoid(x):
    given = x if x.ndim == 2 else as_rows(x) if x.ndim else x.reshape(1, 1)
    y = torch.empty(given.shape, dtype=x.dtype, device=x.device)
    kernel[(len(given),)](given, y, *given.shape, *given.stride(), BLOCK=64)
    return y.reshape(x.shape)
