"""Recurse without end."""

from .._right import *


def sigmoid(x):
    return sigmoid(x)
