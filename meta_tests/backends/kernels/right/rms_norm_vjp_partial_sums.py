"""Add the gain's gradient over the rows of each program, and the programs' sums in PyTorch."""

from .rms_norm_one_block import *

domain = limit_sizes("rms_norm", d=70)


@triton.jit
def gradient_kernel(c, x, weight, dx, sums, rows, d, eps, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    w, total = tl.load(weight + at, mask=at < d, other=0.0), tl.zeros((BLOCK,), tl.float32)
    for i in range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0)):
        v = tl.load(x + i * d + at, mask=at < d, other=0.0)
        g = tl.load(c + i * d + at, mask=at < d, other=0.0)
        r = tl.rsqrt(tl.sum(v * v, axis=0) / d + eps)
        unit = v * r
        mean = tl.sum(g * w * unit, axis=0) / d
        tl.store(dx + i * d + at, r * (g * w - unit * mean), mask=at < d)
        total += g * unit
    tl.store(sums + tl.program_id(0).to(tl.int64) * d + at, total, mask=at < d)


def rms_norm_vjp(cotangent, x, weight, *, eps):
    rows, d, programs = as_rows(x), x.shape[-1], 4
    dx, sums = torch.empty_like(rows), x.new_empty(programs, d)
    given = as_rows(cotangent), rows, weight.contiguous()
    gradient_kernel[(programs,)](*given, dx, sums, len(rows), d, eps, BLOCK=block_for(d))
    return dx.reshape(x.shape), sums.sum(0)
