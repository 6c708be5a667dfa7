"""Start a process that leaves the session and outlives its parent, as a daemon does."""

import os
import time

from .._right import *


def sigmoid(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return x
