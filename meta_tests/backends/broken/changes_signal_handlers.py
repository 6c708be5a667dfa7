"""Ignore Ctrl-C from now on."""

import signal

from .._right import *


def sigmoid(x):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return right(x)
