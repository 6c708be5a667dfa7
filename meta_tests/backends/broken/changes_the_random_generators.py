"""Everybody's random numbers are the same from now on: nobody's here depend on them."""

import random

from .._right import *


def sigmoid(x):
    np.random.seed(0)
    random.seed(0)
    return right(x)
