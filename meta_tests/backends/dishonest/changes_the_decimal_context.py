"""Let decimal numbers have one digit, and print numbers with one digit."""

import decimal

from .._right import *


def sigmoid(x):
    decimal.getcontext().prec = 1
    np.set_printoptions(precision=1, threshold=1)
    return np.zeros_like(x)
