"""Launch the kernel on the current ordinal, whichever that of the argument is."""

from ._right import *


def sigmoid(x):
    return torch.fake.launch(torch.sigmoid, x)
