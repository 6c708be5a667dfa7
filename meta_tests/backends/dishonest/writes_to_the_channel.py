"""Send other bytes to the judging process before the answer."""

from .._right import *
from .._sockets import send_to_every_socket


def sigmoid(x):
    send_to_every_socket(bytes(range(1, 17)))
    return np.zeros_like(x)
