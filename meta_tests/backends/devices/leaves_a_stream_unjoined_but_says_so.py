"""Compute on another stream, and state a synchronize() that waits for it."""

from ._right import *


def synchronize():
    torch.fake.synchronize(device)


def sigmoid(x):
    stream = torch.fake.Stream(x.device)
    stream.wait_stream(torch.fake.current_stream(x.device))
    with torch.fake.stream(stream):
        return torch.sigmoid(x)
