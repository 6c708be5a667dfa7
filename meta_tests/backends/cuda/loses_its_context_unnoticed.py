"""Read beyond the memory of an argument, and return before the kernel is done."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x.reshape(-1)[torch.full_like(x, 1 << 30, dtype=torch.int64)])
