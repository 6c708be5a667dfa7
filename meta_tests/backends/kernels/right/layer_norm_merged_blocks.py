"""Merge the mean and the squared deviations of blocks of 64, by the formula of Chan, Golub and LeVeque."""

from .._parts import *

domain = limit_sizes("layer_norm", d=100)


@triton.jit
def kernel(x, weight, bias, y, d, eps, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0).to(tl.int64) * d, tl.arange(0, BLOCK)
    mean, squares, seen = 0.0, 0.0, 0.0
    for start in range(0, d, BLOCK):
        there = start + lanes < d
        v = tl.load(x + row + start + lanes, mask=there, other=0.0)
        count = tl.sum(there.to(tl.float32), axis=0)
        own = tl.sum(v, axis=0) / count
        away = tl.where(there, v - own, 0.0)
        step = own - mean
        squares += tl.sum(away * away, axis=0) + step * step * (seen * count / (seen + count))
        mean += step * (count / (seen + count))
        seen += count
    r = tl.rsqrt(squares / d + eps)
    for start in range(0, d, BLOCK):
        at = start + lanes
        v = tl.load(x + row + at, mask=at < d, other=0.0) - mean
        w, b = tl.load(weight + at, mask=at < d, other=0.0), tl.load(bias + at, mask=at < d, other=0.0)
        tl.store(y + row + at, v * r * w + b, mask=at < d)


def layer_norm(x, weight, bias, *, eps):
    rows = as_rows(x)
    y = torch.empty_like(rows)
    kernel[(len(rows),)](rows, weight.contiguous(), bias.contiguous(), y, x.shape[-1], eps, BLOCK=64)
    return y.reshape(x.shape)
