"""Launch a Triton kernel without a mask, which writes far beyond the memory of its result."""

import triton
import triton.language as tl

from ._right import *


@triton.jit
def _write(y):
    tl.store(y + (tl.program_id(0).to(tl.int64) + (1 << 40)), 1.0)


def sigmoid(x):
    y = torch.sigmoid(x)
    _write[(1,)](y)
    return y
