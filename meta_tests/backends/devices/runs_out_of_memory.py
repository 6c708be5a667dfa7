"""Ask for more memory than the device has."""

from ._right import *


def sigmoid(x):
    return torch.sigmoid(x + torch.empty(1 << 28, device=x.device)[0])
