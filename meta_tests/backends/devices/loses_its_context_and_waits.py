"""Lose the context of the device, which shows when synchronize() waits."""

from ._right import *

device = "fake:6"


def synchronize():
    torch.fake.synchronize(device)


def sigmoid(x):
    return torch.fake.launch_out_of_bounds(x)
