"""Lose the context of the device, which shows within the call."""

from ._right import *

device = "fake:4"


def sigmoid(x):
    y = torch.fake.launch_out_of_bounds(x)
    torch.fake.synchronize(device)
    return y
