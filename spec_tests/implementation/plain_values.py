"""Copies of what a backend states, in plain types of Python: an object of its own class could answer otherwise each time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import MappingProxyType
from typing import Any

from .printable import printable_line, text_of

MAX_DEPTH = 100  # of containers in containers: more than any statement has, and less than Python can follow

DICTS = (dict, MappingProxyType)
STATED_KINDS = MappingProxyType(
    {  # by the name of a statement: the kinds of which it may be, those of its items, and what to give
        "dtypes": ((str, list, tuple, set, frozenset), (object,), "give a tuple, as in dtypes = ('float32',)"),
        "domain": (DICTS, DICTS, "give a dict of restrictions"),
        "conventions": (DICTS, (object,), "give a dict of values by the names of conventions"),
        **dict.fromkeys(("renamed_operations", "absence_hints"), (DICTS, (str,), "an importer states it; give it another name")),
    }
)


class NestedTooDeep(Exception):
    """What a backend states contains itself, or more levels than can be read."""


def copy_plain(value: Any, depth: int = 0) -> Any:
    """Return a copy in which containers, texts and numbers of derived classes are of the classes of Python that they derive from.

    No method of a derived class is called. What is of another kind is returned as it is, for the checks of the statement to name.
    Raise NestedTooDeep for a container in itself.
    """
    if depth > MAX_DEPTH:
        raise NestedTooDeep(f"it contains itself, or has more than {MAX_DEPTH} levels")
    inner = partial(copy_plain, depth=depth + 1)
    if type(value) is bool or value is None:
        return value
    for base, copy in (
        (str, str.__str__),
        (int, int.__int__),
        (float, float.__float__),
        (dict, lambda x: {inner(key): inner(item) for key, item in dict.items(x)}),
        (list, lambda x: [inner(item) for item in list.__iter__(x)]),
        (tuple, lambda x: tuple(inner(item) for item in tuple.__iter__(x))),
        (set, lambda x: {inner(item) for item in set.__iter__(x)}),
        (frozenset, lambda x: frozenset(inner(item) for item in frozenset.__iter__(x))),
    ):
        if base in type(value).__mro__:  # isinstance asks the object, which may lie
            return copy(value)
    return value


def find_unreadable(source: Any) -> Iterator[str]:
    """Yield what a source states and nothing can read, each in one sentence: it is of another kind, or has no end."""
    for name, (kinds, kinds_of_items, advice) in STATED_KINDS.items():
        stated = getattr(source, name, None)
        if stated is None:
            continue
        try:
            copied = copy_plain(stated)
        except NestedTooDeep as error:
            yield f"its `{name}` cannot be read: {error}"
            continue
        if not _is_of(copied, kinds):
            yield f"its `{name}` is {_name_kind(copied)}; {advice}"
            continue
        for key, item in copied.items() if _is_of(copied, DICTS) else ():
            if not _is_of(item, kinds_of_items):
                yield f"its {name} of {printable_line(text_of(key), 60)} is {_name_kind(item)}; {advice}"


def _is_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether the value is of one of the kinds. The value itself, which may lie about its class, is not asked."""
    return any(kind in type(value).__mro__ for kind in kinds)


def _name_kind(value: Any) -> str:
    """Return the value, or its class if it is of none of Python's kinds: its own text could be anything."""
    plain = value is None or type(value) in (bool, int, float, str, list, tuple)
    return printable_line(repr(value), 60) if plain else f"of the class {printable_line(type(value).__name__, 60)}"
