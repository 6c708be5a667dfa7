"""Set a trace function, which is called for every line that runs."""

import sys

from .._right import *


def sigmoid(x):
    sys.settrace(lambda *_: None)
    return right(x)
