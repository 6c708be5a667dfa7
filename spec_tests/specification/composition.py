"""Which equations are made of other equations, and how to replace one of these parts for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .registry import same_kind, specification


def _reference_globals(operation: str) -> dict[str, Any]:
    """Return the module namespace in which the operation's equation looks up its parts."""
    return specification(operation).reference.__globals__


@cache
def parts_of(operation: str) -> tuple[str, ...]:
    """Return the operations that an operation's equation calls, directly or through other operations."""
    direct = [name for name in same_kind(operation) if name != operation and name in _reference_globals(operation)]
    return tuple(dict.fromkeys([*direct, *(inner for name in direct for inner in parts_of(name))]))


@contextmanager
def substitute(name: str, equation: Callable[..., Any]) -> Iterator[None]:
    """Within the context, make every equation that calls operation `name` call `equation` instead."""
    original = specification(name).reference
    namespaces = [_reference_globals(other) for other in same_kind(name) if other != name and name in _reference_globals(other)]
    try:
        for namespace in namespaces:
            namespace[name] = equation
        yield
    finally:
        for namespace in namespaces:
            namespace[name] = original
