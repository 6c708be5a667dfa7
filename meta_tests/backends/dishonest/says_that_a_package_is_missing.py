"""Say of every call that a package is missing."""

from .._right import *


def sigmoid(x):
    raise ModuleNotFoundError("No module named 'a_compiler'", name="a_compiler")
