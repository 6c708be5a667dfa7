"""Write the form with tanh as x e^z / (e^z + 1), which is infinity by infinity for large z."""

from .._parts import *

operation = "gelu"
says = ("overflow",)
domain = {"gelu": {"approximate": ("tanh",)}}


@triton.jit
def kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < count, other=0.0)
    e = tl.exp(1.5957691216057308 * (v + 0.044715 * v * v * v))
    tl.store(y + at, v * (e / (e + 1)), mask=at < count)


def gelu(x, *, approximate="none"):
    x = x.contiguous()
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y
