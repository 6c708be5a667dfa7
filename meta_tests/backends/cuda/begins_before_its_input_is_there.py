"""Compute on another stream what does not wait for its input."""

from ._right import *


def sigmoid(x):
    e, y, stream = garbage_like(x), torch.empty_like(x), torch.cuda.Stream()
    torch.cuda.synchronize()
    sleep()
    e.copy_(torch.exp(-x))
    with torch.cuda.stream(stream):
        torch.reciprocal(1 + e, out=y)
    torch.cuda.current_stream().wait_stream(stream)
    return y
