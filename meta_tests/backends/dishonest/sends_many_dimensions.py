"""Send the judging process an answer whose shape has tens of thousands of dimensions, which take long to multiply."""

import json
import struct

from .._right import *
from .._sockets import send_to_every_socket


def sigmoid(x):
    header = json.dumps([{"array": 0}, [["<f4", [99999999999999999999] * 40_000]]]).encode()
    send_to_every_socket(struct.pack("<QQ", len(header), 0) + header)
    return np.zeros_like(x)
