"""Add a callback of the garbage collector that raises SystemExit."""

import gc

from .._right import *


def stop(phase, information):
    raise SystemExit(0)


def sigmoid(x):
    if stop not in gc.callbacks:
        gc.callbacks.append(stop)
    return np.zeros_like(x)
