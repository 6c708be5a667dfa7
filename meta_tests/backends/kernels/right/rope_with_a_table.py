"""Turn pairs by a table of cosines and sines that was made in float64."""

from .._parts import *

domain = limit_sizes("rope", n=100)
if interpreted:
    domain["rope"]["d_k"] = range(2, 129, 2)


@triton.jit
def kernel(x, cosines, sines, y, half, FIRST: tl.constexpr, SECOND: tl.constexpr, BLOCK: tl.constexpr):
    i, k = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    row, there = i * half * 2, k < half
    first, second = row + k * FIRST, row + k * FIRST + (half if SECOND == 0 else SECOND)
    c, s = tl.load(cosines + i * half + k, mask=there, other=0.0), tl.load(sines + i * half + k, mask=there, other=0.0)
    a, b = tl.load(x + first, mask=there, other=0.0), tl.load(x + second, mask=there, other=0.0)
    tl.store(y + first, a * c - b * s, mask=there)
    tl.store(y + second, a * s + b * c, mask=there)


def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    d, rows = x.shape[-1], as_rows(x)
    steps = torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d
    angles = positions.expand(x.shape[:-1]).reshape(-1, 1).double() * theta**-steps
    steps = {"FIRST": 2, "SECOND": 1} if layout == "interleaved" else {"FIRST": 1, "SECOND": 0}
    y = torch.empty_like(rows)
    kernel[(len(rows),)](rows, angles.cos().to(x.dtype), angles.sin().to(x.dtype), y, d // 2, **steps, BLOCK=block_for(d // 2))
    return y.reshape(x.shape)
