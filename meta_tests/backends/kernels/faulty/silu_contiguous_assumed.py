"""Read a view in the order of memory, whatever its strides."""

from ..right.silu_persistent import *

operation = "silu"
says = ("strides",)


def silu(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    kernel[(4,)](x, y, x.numel(), BLOCK=64)
    return y
