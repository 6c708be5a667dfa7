"""Return a view of one element with a shape of exabytes."""

from .._right import *


def sigmoid(x):
    return np.broadcast_to(np.float32(0.5), (2**20, 2**20, 2**20))
