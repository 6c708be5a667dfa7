"""Kill the process, as the system does when memory runs out."""

import os
import signal

from .._right import *


def sigmoid(x):
    os.kill(os.getpid(), signal.SIGKILL)
