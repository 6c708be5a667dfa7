"""Equations made of other equations: which, and the same with another equation in place of one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from .registry import same_kind, specification


def _reference_globals(operation: str) -> dict[str, Any]:
    return specification(operation).reference.__globals__


@cache
def parts_of(operation: str) -> tuple[str, ...]:
    """The operations that an operation's equation is made of, and those that they are made of."""
    named = [name for name in same_kind(operation) if name != operation and name in _reference_globals(operation)]
    return tuple(dict.fromkeys([*named, *(inner for name in named for inner in parts_of(name))]))


@contextmanager
def substitute(name: str, equation: Callable[..., Any]) -> Iterator[None]:
    """While it lasts, the equations made of operation `name` are made of another in its place."""
    right = specification(name).reference
    homes = [_reference_globals(other) for other in same_kind(name) if other != name and name in _reference_globals(other)]
    try:
        for home in homes:
            home[name] = equation
        yield
    finally:
        for home in homes:
            home[name] = right
