"""Send itself SIGINT when an object of an earlier call is destroyed, where Python drops what is raised."""

import signal

from .._right import *

KEPT = []


class Interrupting:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def sigmoid(x):
    KEPT[:] = [Interrupting()]
    return np.zeros_like(x)
