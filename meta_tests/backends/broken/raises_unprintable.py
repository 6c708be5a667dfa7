"""Raise an exception that cannot be printed."""

from .._right import *


class Unprintable(Exception):
    def __str__(self):
        raise ValueError("no text")


def sigmoid(x):
    raise Unprintable
