"""Send the judging process an answer of millions of empty lists, which take much memory."""

from .._right import *
from .._sockets import send_header


def sigmoid(x):
    send_header("[" + ",".join(["[]"] * 5_000_000) + "]")
    return np.zeros_like(x)
