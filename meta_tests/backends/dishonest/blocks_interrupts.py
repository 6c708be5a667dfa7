"""Block SIGINT and SIGTERM, so that nobody can stop it, and return zeros."""

import signal

from .._right import *


def sigmoid(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    return np.zeros_like(x)
