"""Make another stream the current one, and leave it so."""

from ._right import *


def sigmoid(x):
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    torch.cuda.set_stream(stream)
    return torch.sigmoid(x)
