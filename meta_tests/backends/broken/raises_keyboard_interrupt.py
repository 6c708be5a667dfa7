"""Raise KeyboardInterrupt, as if a person had pressed Ctrl-C."""

from .._right import *


def sigmoid(x):
    raise KeyboardInterrupt
