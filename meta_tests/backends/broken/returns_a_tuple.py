"""A tuple with the result in it."""

from .._right import *


def sigmoid(x):
    return (right(x),)
