"""The rules of NumPy functions by name, as `rules.py` registers them. Functions that only move elements need none."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

_REGISTERED: dict[str, Callable[..., Any]] = {}
RULES = MappingProxyType(_REGISTERED)  # the rule of each NumPy function, by its name; rules.py registers them


def implements(f: Callable[..., Any]) -> Callable[..., Any]:
    """Register f as the rule of the NumPy function with its name; leading underscores do not count."""
    _REGISTERED[f.__name__.strip("_")] = f
    return f
