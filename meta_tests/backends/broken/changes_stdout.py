"""Redirect standard output, so that nothing is printed any more."""

import os
import sys

from .._right import *


def sigmoid(x):
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return right(x)
