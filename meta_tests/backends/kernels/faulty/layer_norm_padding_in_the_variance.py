"""Subtract the mean from the padding as well, whose squares then count in the variance."""

from .._parts import *

operation = "layer_norm"
says = ("padded with zeros", "variance")
domain = limit_sizes("layer_norm", d=100)


@triton.jit
def kernel(x, weight, bias, y, d, eps, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64) * d, tl.arange(0, BLOCK)
    v = tl.load(x + row + at, mask=at < d, other=0.0)
    v = v - tl.sum(v, axis=0) / d
    r = 1 / tl.sqrt(tl.sum(v * v, axis=0) / d + eps)
    w, b = tl.load(weight + at, mask=at < d, other=0.0), tl.load(bias + at, mask=at < d, other=0.0)
    tl.store(y + row + at, v * r * w + b, mask=at < d)


def layer_norm(x, weight, bias, *, eps):
    rows = as_rows(x)
    y, block = torch.empty_like(rows), block_for(x.shape[-1])
    kernel[(len(rows),)](rows, weight.contiguous(), bias.contiguous(), y, x.shape[-1], eps, BLOCK=block)
    return y.reshape(x.shape)
