"""State an environment in which other modules come first."""

from .._right import *

environment = {"PYTHONPATH": "/nowhere", "PYTHONSAFEPATH": "", "PYTHONINSPECT": "1", "PYTHONWARNINGS": "error"}


def sigmoid(x):
    return np.zeros_like(x)
