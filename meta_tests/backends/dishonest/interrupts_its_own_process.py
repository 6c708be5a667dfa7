"""Send itself SIGINT in every call, as a person's Ctrl-C would."""

import signal

from .._right import *


def sigmoid(x):
    signal.raise_signal(signal.SIGINT)
    return np.zeros_like(x)
