"""Set an environment variable, as compilers do. The suite tolerates it."""

import os

from .._right import *


def sigmoid(x):
    os.environ["A_VARIABLE_OF_ITS_OWN"] = "1"
    return right(x)
