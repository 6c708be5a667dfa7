"""Lose the context of the device, which shows when the result is read."""

from ._right import *

device = "fake:5"


def sigmoid(x):
    return torch.fake.launch_out_of_bounds(x)
