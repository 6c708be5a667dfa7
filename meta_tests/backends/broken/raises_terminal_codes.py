"""Raise an exception whose text contains terminal control codes."""

from .._right import *


def sigmoid(x):
    raise ValueError("\x1b[2J\x1b[31mall is well\x07")
