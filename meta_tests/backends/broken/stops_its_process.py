"""Stop its process once, as Ctrl-Z does, for longer than the time limit, and have another one wake it. The answer is right."""

import os
import signal
import subprocess

from .._right import *

stopped = []


def sigmoid(x):
    if not stopped:
        stopped.append(subprocess.Popen(["sh", "-c", f"sleep 5; kill -CONT {os.getpid()}"]))
        os.kill(os.getpid(), signal.SIGSTOP)
    return right(x)
