"""Make another stream the current one, and leave it so."""

from ._right import *


def sigmoid(x):
    stream = torch.fake.Stream(x.device)
    stream.wait_stream(torch.fake.current_stream(x.device))
    torch.fake.set_stream(stream)
    return torch.sigmoid(x)
