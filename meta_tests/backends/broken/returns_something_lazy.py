"""Return an object that has yet to be computed."""

from .._right import *


class Lazy:
    def __init__(self, x):
        self.x = x

    def compute(self):
        return right(self.x)


def sigmoid(x):
    return Lazy(x)
