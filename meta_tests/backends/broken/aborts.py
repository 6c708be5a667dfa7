"""A failed assertion in C."""

import os

from .._right import *


def sigmoid(x):
    os.abort()
