"""Abort the process, as a failed assertion in C does."""

import os

from .._right import *


def sigmoid(x):
    os.abort()
