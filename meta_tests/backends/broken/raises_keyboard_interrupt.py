"""As if a person had interrupted."""

from .._right import *


def sigmoid(x):
    raise KeyboardInterrupt
