"""Calls of the functions of an adapters file: one whose arguments are others than the assignment's counts as not written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def accepts(function: Callable[..., Any], arguments: dict[str, Any]) -> bool:
    """Whether the function takes these arguments by keyword."""
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError:
        return False
    return True


def call(module: Any, name: str, **arguments: Any) -> Any:
    """Return what the file's function of this name answers."""
    function = getattr(module, name, None)
    if function is None:
        raise NotImplementedError(f"it has no {name}")
    if not accepts(function, arguments):
        raise NotImplementedError(f"it has no {name} that takes {', '.join(arguments)}")
    return function(**arguments)
