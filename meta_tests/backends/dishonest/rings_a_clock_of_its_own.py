"""End the program with status 0 from a handler of a signal that its own timer sends, outside of its calls."""

import signal
import sys

from .._right import *


def end(*_):
    sys.exit(0)


signal.signal(signal.SIGVTALRM, end)


def sigmoid(x):
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
    return np.zeros_like(x)
