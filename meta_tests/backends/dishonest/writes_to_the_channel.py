"""Send other bytes to the judging process before the answer."""

import os
import socket
import sys

from .._right import *


def sigmoid(x):
    for number in range(3, 64 if "pytest" in sys.modules else 1024):
        try:
            socket.socket(fileno=os.dup(number)).sendall(bytes(range(1, 17)))
        except OSError:
            continue
    return np.zeros_like(x)
