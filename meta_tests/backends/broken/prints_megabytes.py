"""Print megabytes and return a wrong result."""

from .._right import *


def sigmoid(x):
    print("spam\n" * (1 << 20))
    return x
