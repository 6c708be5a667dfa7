"""Leave the elements after the last full block of four unwritten."""

from ._right import *


def sigmoid(x):
    y, full = torch.empty_like(x), x.numel() // 4 * 4
    y.view(-1)[:full] = torch.sigmoid(x.reshape(-1)[:full])
    return y
