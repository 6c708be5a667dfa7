"""Copy to the CPU without waiting, and compute there."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x.to("cpu", non_blocking=True)).to(x.device)
