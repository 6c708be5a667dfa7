"""Cause a segmentation fault."""

import ctypes

from .._right import *


def sigmoid(x):
    ctypes.string_at(0)
