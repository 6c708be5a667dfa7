"""Keep a buffer of every call, until the device has no more memory."""

from ...support.fake_boards import find_board
from ._right import *

device = "fake:3"
find_board(device).capacity = 1 << 22
KEPT = []


def sigmoid(x):
    KEPT.append(torch.empty(1 << 18, device=x.device))
    return torch.sigmoid(x)
