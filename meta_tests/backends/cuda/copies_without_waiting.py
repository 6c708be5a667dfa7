"""Copy to the CPU without waiting, and compute there."""

from ._right import *


def sigmoid(x):
    there = torch.full(x.shape, 77.0, pin_memory=True)
    sleep()
    there.copy_(x, non_blocking=True)
    return torch.sigmoid(there).to(x.device)
