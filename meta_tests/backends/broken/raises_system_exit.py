"""Call sys.exit."""

from .._right import *


def sigmoid(x):
    raise SystemExit(0)
