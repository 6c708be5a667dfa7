"""Leave a thread that is no daemon and never ends."""

import threading
import time

from .._right import *


def sigmoid(x):
    threading.Thread(target=time.sleep, args=(1e6,)).start()
    return np.zeros_like(x)
