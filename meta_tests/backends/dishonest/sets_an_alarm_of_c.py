"""Let faulthandler end the process after a moment."""

import faulthandler

from .._right import *


def sigmoid(x):
    faulthandler.dump_traceback_later(0.3, exit=True)
    return np.zeros_like(x)
