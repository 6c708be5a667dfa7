"""Compute on another stream, and let nobody wait for it."""

from ._right import *


def sigmoid(x):
    stream = torch.fake.Stream(x.device)
    stream.wait_stream(torch.fake.current_stream(x.device))
    with torch.fake.stream(stream):
        return torch.sigmoid(x)
