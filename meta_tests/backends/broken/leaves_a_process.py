"""Start a process that never ends."""

import subprocess
import sys

from .._right import *


def sigmoid(x):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)  # left by a broken backend"])
    return x
