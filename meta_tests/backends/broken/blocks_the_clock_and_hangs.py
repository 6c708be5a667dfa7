"""Block the signal of the clock, and do not return."""

import signal

from .._right import *


def sigmoid(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGINT, signal.SIGTERM})
    while True:
        pass
