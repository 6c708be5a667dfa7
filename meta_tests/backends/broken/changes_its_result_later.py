"""Return an array that a thread goes on writing to."""

import threading
import time

from .._right import *


def later(y):
    for _ in range(200):
        y[...] = 0
        time.sleep(0.001)


def sigmoid(x):
    y = right(x)
    threading.Timer(0.002, later, [y]).start()
    time.sleep(0.02)
    return y
