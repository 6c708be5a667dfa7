"""Raise an exception at import."""

from .._right import *

raise RuntimeError("no licence")
