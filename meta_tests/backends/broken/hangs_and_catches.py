"""It goes on whatever is raised in it."""

import contextlib
import time

from .._right import *


def sigmoid(x):
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(0.01)
