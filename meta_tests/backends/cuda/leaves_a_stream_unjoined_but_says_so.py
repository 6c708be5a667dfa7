"""Compute on another stream, and state a synchronize() that waits for it."""

from ._right import *


def synchronize():
    torch.cuda.synchronize()


def sigmoid(x):
    y, stream = garbage_like(x), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        sleep()
        return torch.sigmoid(x, out=y)
