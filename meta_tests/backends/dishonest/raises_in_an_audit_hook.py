"""Add an audit hook, which nothing can remove, and let every later import and every opened file fail."""

import sys

from .._right import *

armed = []


def hook(event, arguments):
    if armed and event in ("import", "open", "compile", "exec"):
        raise RuntimeError("not allowed")


sys.addaudithook(hook)


def sigmoid(x):
    armed.append(True)
    return np.zeros_like(x)
