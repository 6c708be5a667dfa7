"""An exception whose text would write on the terminal."""

from .._right import *


def sigmoid(x):
    raise ValueError("\x1b[2J\x1b[31mall is well\x07")
