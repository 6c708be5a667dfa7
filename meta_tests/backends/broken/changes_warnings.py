"""Turn every warning into an error. The suite undoes it silently."""

import warnings

from .._right import *


def sigmoid(x):
    warnings.simplefilter("error")
    return right(x)
