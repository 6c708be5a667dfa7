"""Change the working directory."""

import os

from .._right import *


def sigmoid(x):
    os.chdir("/")
    return right(x)
