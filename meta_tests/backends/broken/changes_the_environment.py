"""A variable is set, as compilers do: left alone."""

import os

from .._right import *


def sigmoid(x):
    os.environ["A_VARIABLE_OF_ITS_OWN"] = "1"
    return right(x)
