"""What it was given."""

from .._right import *


def sigmoid(x):
    return x.copy()
