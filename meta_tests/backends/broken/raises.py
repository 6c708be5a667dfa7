"""Raise an exception."""

from .._right import *


def sigmoid(x):
    raise ValueError("no kernel image")
