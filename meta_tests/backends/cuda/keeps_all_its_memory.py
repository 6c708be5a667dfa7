"""Keep a buffer of every call, until the device has no more memory."""

from ._right import *

torch.cuda.set_per_process_memory_fraction(0.05)  # of the device, so that other processes are not harmed
KEPT = []


def sigmoid(x):
    KEPT.append(torch.empty(1 << 30, dtype=torch.uint8, device=x.device))
    return torch.sigmoid(x)
