"""Lose the framework's context: none of its functions works in this process afterwards."""

from . import _losing as losing

framework = losing.__name__
dtypes = ("float32",)


def relu(x):
    return losing.asarray(losing.maximum(x, 0))


def sigmoid(x):
    return losing.lose(x)
