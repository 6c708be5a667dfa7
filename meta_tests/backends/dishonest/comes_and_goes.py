"""Have the function, which is wrong, only until the first function is called, and none when its laws are tried."""

from .._right import np
from .._right import relu as right_relu

framework = "numpy"
dtypes = ("float32",)
called = []


def relu(x):
    called.append("relu")
    return right_relu(x)


def __getattr__(name):
    if name == "sigmoid" and not called:
        return np.zeros_like
    raise AttributeError(name)
