"""Loop without end and suppress every exception."""

import contextlib
import time

from .._right import *


def sigmoid(x):
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(0.01)
