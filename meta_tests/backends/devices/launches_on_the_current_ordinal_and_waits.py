"""Launch the kernel on the current ordinal, and wait for it."""

from ._right import *

synchronize = torch.fake.synchronize


def sigmoid(x):
    return torch.fake.launch(torch.sigmoid, x)
