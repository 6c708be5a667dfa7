"""The catalogue of known bugs, with one file for each operation. Files whose names begin with _ are the machinery."""

from ._catalogue import (
    HALF,
    KINDS,
    SUBSTITUTED,
    Deviation,
    catalogue,
    deviation,
    deviations_of,
    deviations_of_parts,
    find,
    take_every_option,
)
from ._oracle_backend import OracleBackend, backend, put_into_oracle
from ._pairs import find_counterpart, join

__all__ = [
    "HALF",
    "KINDS",
    "SUBSTITUTED",
    "Deviation",
    "OracleBackend",
    "backend",
    "catalogue",
    "deviation",
    "deviations_of",
    "deviations_of_parts",
    "find",
    "find_counterpart",
    "join",
    "put_into_oracle",
    "take_every_option",
]  # fmt: skip
