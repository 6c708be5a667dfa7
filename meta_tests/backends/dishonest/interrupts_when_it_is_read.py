"""Return an array of a class that raises KeyboardInterrupt when its values are asked for."""

from .._right import *


class Interrupting(np.ndarray):
    def __getattribute__(self, name):
        raise KeyboardInterrupt

    def __array__(self, *_, **__):
        raise KeyboardInterrupt


def sigmoid(x):
    return np.zeros_like(x).view(Interrupting)
