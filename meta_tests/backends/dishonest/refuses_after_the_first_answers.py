"""Answer a few calls rightly, and refuse all others."""

from .._right import *

answered = []


def sigmoid(x):
    answered.append(True)
    if len(answered) > 5:
        raise NotImplementedError("not any more")
    return right(x)
