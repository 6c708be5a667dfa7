"""Have another process stop and wake it many times in each call, so that its time has nothing but gaps, and return zeros."""

import os
import subprocess

from .._right import *

STEPS = "for i in 1 2 3 4 5 6; do kill -STOP {0}; sleep 0.05; kill -CONT {0}; sleep 0.01; done"


def sigmoid(x):
    subprocess.run(["sh", "-c", STEPS.format(os.getpid())], check=True)
    return np.zeros_like(x)
