"""It sleeps, and would go on sleeping."""

import time

from .._right import *


def sigmoid(x):
    time.sleep(1000)
