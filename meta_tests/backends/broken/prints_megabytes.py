"""Much is said, and then the wrong thing."""

from .._right import *


def sigmoid(x):
    print("spam\n" * (1 << 20))
    return x
