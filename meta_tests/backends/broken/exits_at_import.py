"""Exit the interpreter at import."""

from .._right import *

raise SystemExit(0)
