"""Constants of what is watched, compared by value: one that is changed in place, as by ctypes, remains the same object."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from marshal import dumps, loads
from types import CodeType
from typing import Any, Protocol

NUMBERS = (float, int, complex, bytes)
PLAIN = (*NUMBERS, str)
VERSION = 2  # of marshal: the first with numbers in binary, and the last that depends on no reference counts


class Holder(Protocol):
    """What holds values by keys, and has a name for each."""

    @property
    def name(self) -> str: ...

    @property
    def keys(self) -> tuple[Any, ...]: ...

    def name_of(self, key: Any) -> str: ...


class Constants:
    """Numbers and texts that objects hold, also in tuples, and the numbers in the code of functions."""

    def __init__(self) -> None:
        self.seen: dict[int, Any] = {}  # which keeps the objects, so that their ids stay theirs
        self.places: list[tuple[Holder, int, Any]] = []
        self.values: list[Any] = []
        self.record()

    def add(self, contents: Iterable[tuple[Holder, tuple[Any, ...]]]) -> None:
        """Add the constants of these values that were not added before."""
        new = [
            (holder, number, constant)
            for holder, values in contents
            for number, value in enumerate(values)
            for constant in _list_constants(value, self.seen)
        ]
        self.places += new
        self.values += [constant for *_, constant in new]

    def record(self) -> None:
        """Record the values as they are now."""
        self.before = dumps(self.values, VERSION)

    def restore(self) -> list[str]:
        """Return the names of what was changed in place. Floats are put back; what else was changed is told at each look."""
        if dumps(self.values, VERSION) == self.before:
            return []
        changed = []
        for (holder, number, value), before in zip(self.places, loads(self.before), strict=True):
            if dumps(value, VERSION) != dumps(before, VERSION):
                keys = holder.keys
                changed.append(holder.name_of(keys[number]) if number < len(keys) else holder.name)
                if type(value) is float:
                    ctypes.c_double.from_address(id(value) + float.__basicsize__ - ctypes.sizeof(ctypes.c_double)).value = before
        return changed


def _list_constants(value: Any, seen: dict[int, Any], plain: tuple[type, ...] = PLAIN) -> Iterator[Any]:
    """Yield the constants of a value that were not seen before. Of code they are numbers: its texts are mostly documentation."""
    if id(value) in seen:
        return
    if type(value) in plain:
        seen[id(value)] = value
        yield value
    elif type(value) in (tuple, frozenset, CodeType):
        seen[id(value)] = value
        inside = value.co_consts if isinstance(value, CodeType) else value
        for item in inside:
            yield from _list_constants(item, seen, NUMBERS if isinstance(value, CodeType) else plain)
