"""Have a timer of the CPU time raise KeyboardInterrupt, in the call or after it, as if a person had pressed Ctrl-C."""

import signal

from .._right import *


def interrupt(number, frame):
    raise KeyboardInterrupt


def sigmoid(x):
    signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)
    return np.zeros_like(x)
