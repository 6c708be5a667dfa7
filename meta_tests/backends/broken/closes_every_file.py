"""Close every file, including those through which the process communicates."""

import os

from .._right import *


def sigmoid(x):
    os.closerange(3, 4096)
