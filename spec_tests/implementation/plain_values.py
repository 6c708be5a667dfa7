"""Copies of what a backend states, in plain types of Python: an object of its own class could answer otherwise each time."""

from __future__ import annotations

from typing import Any


def copy_plain(value: Any) -> Any:
    """Return a copy in which containers, texts and numbers of derived classes are of the classes of Python that they derive from.

    No method of a derived class is called. What is of another kind is returned as it is, for the checks of the statement to name.
    """
    if type(value) is bool or value is None:
        return value
    for base, copy in (
        (str, str.__str__),
        (int, int.__int__),
        (float, float.__float__),
        (dict, lambda x: {copy_plain(key): copy_plain(item) for key, item in dict.items(x)}),
        (list, lambda x: [copy_plain(item) for item in list.__iter__(x)]),
        (tuple, lambda x: tuple(copy_plain(item) for item in tuple.__iter__(x))),
        (set, lambda x: {copy_plain(item) for item in set.__iter__(x)}),
        (frozenset, lambda x: frozenset(copy_plain(item) for item in frozenset.__iter__(x))),
    ):
        if base in type(value).__mro__:  # isinstance asks the object, which may lie
            return copy(value)
    return value
