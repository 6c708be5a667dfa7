"""Loop without end in C, where Python cannot interrupt."""

from itertools import repeat

from .._right import *


def sigmoid(x):
    return sum(repeat(1))
