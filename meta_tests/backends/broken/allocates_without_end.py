"""Allocate more and more memory."""

from .._right import *


def sigmoid(x):
    kept = []
    while True:
        kept.append(np.ones(1 << 24))
