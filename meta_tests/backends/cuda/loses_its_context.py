"""Read beyond the memory of an argument, and wait for the kernel."""

from ._right import *


def sigmoid(x):
    y = torch.sigmoid(x.reshape(-1)[torch.full_like(x, 1 << 30, dtype=torch.int64)])
    torch.cuda.synchronize()
    return y
