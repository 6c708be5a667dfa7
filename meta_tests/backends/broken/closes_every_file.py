"""Also those by which it would be heard."""

import os

from .._right import *


def sigmoid(x):
    os.closerange(3, 4096)
