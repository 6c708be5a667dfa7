"""Compute on another stream what does not wait for its input."""

from ._right import *


def sigmoid(x):
    e, stream = torch.exp(-x), torch.fake.Stream(x.device)
    with torch.fake.stream(stream):
        y = 1 / (1 + e)
    torch.fake.current_stream(x.device).wait_stream(stream)
    return y
