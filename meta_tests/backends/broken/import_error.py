"""It raises when it is imported."""

from .._right import *

raise RuntimeError("no licence")
