"""Change names of modules of the suite for a while: the parts of an equation, where others are put in their place.

A look for what a backend has replaced may come while such a change lasts, since modules are imported on their first use and a
look precedes the import. The names are put back for it: the suite's own change is no replacement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class _Change:
    namespace: dict[str, Any]
    name: str
    value: Any
    original: Any


_lasting: list[_Change] = []  # in the order in which they were made


@contextmanager
def change_names(namespaces: Iterable[dict[str, Any]], name: str, value: Any) -> Iterator[None]:
    """Within the context, a name has another value in these namespaces."""
    made = list[_Change]()
    try:
        for namespace in namespaces:
            made.append(_Change(namespace, name, value, namespace[name]))
            _lasting.append(made[-1])
            namespace[name] = value
        yield
    finally:
        for change in reversed(made):
            _lasting.remove(change)
            change.namespace[name] = change.original


@contextmanager
def originals_in_place() -> Iterator[None]:
    """Within the context, all names have the values that they had before they were changed."""
    changes = _lasting.copy()
    _lasting.clear()
    for change in reversed(changes):
        change.namespace[change.name] = change.original
    try:
        yield
    finally:
        for change in changes:
            change.namespace[change.name] = change.value
        _lasting.extend(changes)
