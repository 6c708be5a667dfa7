"""Gate in a grid of two dimensions, between matrix products of PyTorch."""

from .._parts import *

domain = limit_sizes("swiglu", h=70)


@triton.jit
def kernel(gate, up, y, rows, h, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    at, there = i.to(tl.int64) * h + j, (i < rows) & (j < h)
    g, u = tl.load(gate + at, mask=there, other=0.0), tl.load(up + at, mask=there, other=0.0)
    tl.store(y + at, g * tl.sigmoid(g) * u, mask=there)


def swiglu(x, w1, w2, w3):
    gate, up = as_rows(x) @ w1.T, as_rows(x) @ w3.T
    y, (rows, h) = torch.empty_like(gate), gate.shape
    kernel[(triton.cdiv(rows, 16), triton.cdiv(h, 32))](gate, up, y, rows, h, ROWS=16, BLOCK=32)
    return (y @ w2.T).reshape(*x.shape[:-1], w2.shape[0])
