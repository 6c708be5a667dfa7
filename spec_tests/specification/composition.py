"""Which equations are made of other equations, and how to replace one of these parts for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from inspect import isfunction
from typing import Any

from .changed_names import change_names
from .registry import same_kind, specification


def _namespaces(operation: str) -> list[dict[str, Any]]:
    """Return the modules' namespaces in which the operation's equation looks up its parts: its own, and those of private modules
    from which it has functions."""
    own = specification(operation).reference.__globals__
    functions = [x for x in own.values() if isfunction(x) and x.__module__.startswith(f"{own['__package__']}._")]
    return [own, *{f.__module__: f.__globals__ for f in functions}.values()]


@cache
def parts_of(operation: str) -> tuple[str, ...]:
    """Return the operations that an operation's equation calls, directly or through other operations."""
    names = {name for namespace in _namespaces(operation) for name in namespace}
    direct = [name for name in same_kind(operation) if name != operation and name in names]
    return tuple(dict.fromkeys([*direct, *(inner for name in direct for inner in parts_of(name))]))


@cache
def _namespaces_with(name: str) -> tuple[dict[str, Any], ...]:
    """Return the namespaces in which equations look up operation `name` as a part."""
    found = [namespace for other in same_kind(name) if other != name for namespace in _namespaces(other) if name in namespace]
    return tuple({id(namespace): namespace for namespace in found}.values())


@contextmanager
def substitute(name: str, equation: Callable[..., Any]) -> Iterator[None]:
    """Within the context, make every equation that calls operation `name` call `equation` instead."""
    with change_names(_namespaces_with(name), name, equation):
        yield
