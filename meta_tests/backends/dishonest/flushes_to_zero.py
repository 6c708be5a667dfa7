"""Have the processor treat subnormal numbers as zero from now on."""

import torch

from .._right import *


def sigmoid(x):
    torch.set_flush_denormal(True)
    return right(x)
