"""Allocate more and more memory."""

from .._right import *


def sigmoid(x):
    kept = []
    while True:
        kept.append(np.empty(1 << 24))
