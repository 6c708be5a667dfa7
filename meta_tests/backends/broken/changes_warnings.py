"""Every warning is an error from now on: put back in silence."""

import warnings

from .._right import *


def sigmoid(x):
    warnings.simplefilter("error")
    return right(x)
