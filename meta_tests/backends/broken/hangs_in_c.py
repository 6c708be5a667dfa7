"""It counts where Python cannot interrupt it."""

from itertools import repeat

from .._right import *


def sigmoid(x):
    return sum(repeat(1))
