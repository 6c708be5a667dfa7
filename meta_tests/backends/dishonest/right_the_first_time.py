"""Return a right result only for arguments that are new."""

from .._right import *

SEEN = set()


def sigmoid(x):
    new = x.tobytes() not in SEEN
    SEEN.add(x.tobytes())
    return right(x) if new else np.zeros_like(x)
