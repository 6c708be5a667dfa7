"""How the arrays of a call are given to the backend, where a law gives them in another way than one by one."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

WHICH = MappingProxyType({"all": (True, True), "the first alone": (True, False), "all but the first": (False, True)})


@dataclass(frozen=True)
class Given:
    """What a call needs besides its values and its layout to be made again as it was made."""

    which: str = "all"  # the arguments that have the layout; the others are contiguous
    one_array: tuple[str, ...] = ()  # two arguments that are one array
    copies: int = 1  # how often the batch is repeated along its first axis
    stacked: tuple[str, ...] = ()  # the arguments that have this axis
    copy: int = 0  # which of these entries was compared


PLAIN = Given()
