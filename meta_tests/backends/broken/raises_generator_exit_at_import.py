"""Raise GeneratorExit while it is imported."""

from .._right import *

raise GeneratorExit
