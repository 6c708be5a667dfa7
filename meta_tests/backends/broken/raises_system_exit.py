"""sys.exit in a call."""

from .._right import *


def sigmoid(x):
    raise SystemExit(0)
