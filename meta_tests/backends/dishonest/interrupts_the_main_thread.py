"""Have a thread interrupt the thread that judges by _thread.interrupt_main."""

import _thread
import threading
import time

from .._right import *

left = []


def late():
    time.sleep(0.05)
    _thread.interrupt_main()


def sigmoid(x):
    if not left:
        left.append(threading.Thread(target=late))
        left[0].start()
    return np.zeros_like(x)
