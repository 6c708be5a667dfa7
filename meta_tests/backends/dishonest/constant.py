"""What a sigmoid is on average."""

from .._right import *


def sigmoid(x):
    return np.full_like(x, 0.5)
