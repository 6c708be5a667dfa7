"""Turn in place: the second feature of a pair is made of the first one as it is after its turn."""

from ..right.rope_with_a_table import *

operation = "rope"
says = ("the first feature of a pair is overwritten before the second is computed",)


@triton.jit
def wrong_kernel(cosines, sines, y, half, FIRST: tl.constexpr, SECOND: tl.constexpr, BLOCK: tl.constexpr):
    i, k = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    row, there = i * half * 2, k < half
    first, second = row + k * FIRST, row + k * FIRST + (half if SECOND == 0 else SECOND)
    c, s = tl.load(cosines + i * half + k, mask=there, other=0.0), tl.load(sines + i * half + k, mask=there, other=0.0)
    a, b = tl.load(y + first, mask=there, other=0.0), tl.load(y + second, mask=there, other=0.0)
    a = a * c - b * s
    tl.store(y + first, a, mask=there)
    tl.store(y + second, a * s + b * c, mask=there)


def rope(x, positions, *, theta=10000.0, layout="interleaved"):
    d, y = x.shape[-1], as_rows(x).clone()
    steps = torch.arange(0, d, 2, dtype=torch.float64, device=x.device) / d
    angles = positions.expand(x.shape[:-1]).reshape(-1, 1).double() * theta**-steps
    steps = {"FIRST": 2, "SECOND": 1} if layout == "interleaved" else {"FIRST": 1, "SECOND": 0}
    wrong_kernel[(len(y),)](angles.cos().to(x.dtype), angles.sin().to(x.dtype), y, d // 2, **steps, BLOCK=block_for(d // 2))
    return y.reshape(x.shape)
