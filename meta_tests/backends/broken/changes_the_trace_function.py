"""It looks at every line that is run."""

import sys

from .._right import *


def sigmoid(x):
    sys.settrace(lambda *_: None)
    return right(x)
