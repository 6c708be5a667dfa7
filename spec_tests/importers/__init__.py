"""Formats in which kernels already exist: each file without a leading _ takes one of them as a backend."""

from ._claims import list_claims
from ._imported import CannotRun, NotTaken, list_parameters, say
from ._recognition import recognize
from ._registry import find_opener, take

__all__ = ["CannotRun", "NotTaken", "find_opener", "list_claims", "list_parameters", "recognize", "say", "take"]
