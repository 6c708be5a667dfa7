"""Send the judging process an answer whose shapes have thousands of digits, which takes long to multiply."""

from .._right import *
from .._sockets import header_with_shape, send_header


def sigmoid(x):
    send_header(header_with_shape("[" + ",".join(["9" * 4000] * 50) + "]"))
    return np.zeros_like(x)
