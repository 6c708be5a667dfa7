"""Bugs that have a name, one file for each operation. Files whose names begin with _ are the machinery."""

from ._catalogue import HALF, KINDS, SUBSTITUTED, Deviation, catalogue, deviation, find, of_parts, own
from ._oracle_backend import OracleBackend, backend

__all__ = [
    "HALF", "KINDS", "SUBSTITUTED", "Deviation", "OracleBackend", "backend", "catalogue", "deviation", "find", "of_parts", "own",
]  # fmt: skip
