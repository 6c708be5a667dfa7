"""Return an array that refuses, as not implemented, to be read."""

from .._right import *


class Refuses(np.ndarray):
    def __array__(self, *arguments, **options):
        raise NotImplementedError("not yet")

    def tobytes(self, *arguments):
        raise NotImplementedError("not yet")

    def __array_ufunc__(self, *arguments, **options):
        raise NotImplementedError("not yet")

    def __array_function__(self, *arguments, **options):
        raise NotImplementedError("not yet")


def sigmoid(x):
    return np.zeros_like(x).view(Refuses)
