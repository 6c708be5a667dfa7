"""Write the form with tanh as x times a logistic function, which cancels nowhere."""

from .._parts import *

domain = {"gelu": {"approximate": ("tanh",)}}


@triton.jit
def kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < count, other=0.0)
    u = tl.minimum(tl.maximum(v, -30.0), 30.0)
    z = 1.5957691216057308 * (u + 0.044715 * u * u * u)
    tl.store(y + at, v / (1 + tl.exp(-z)), mask=at < count)


def gelu(x, *, approximate="none"):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
