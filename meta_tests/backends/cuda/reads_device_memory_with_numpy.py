"""Read the argument with NumPy, as if it were on the CPU."""

import numpy as np

from ._right import *


def sigmoid(x):
    return torch.asarray(1 / (1 + np.exp(-np.asarray(x)))).to(x.device)
