"""Sleep without end."""

import time

from .._right import *


def sigmoid(x):
    time.sleep(1000)
