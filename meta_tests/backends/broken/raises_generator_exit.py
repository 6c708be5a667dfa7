"""Raise a BaseException that is no Exception."""

from .._right import *


def sigmoid(x):
    raise GeneratorExit
