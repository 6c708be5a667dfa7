"""What the signature of a backend's function lacks, or asks for in vain, with what to write."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

from ..specification.registry import Specification

EXAMPLE_VALUES = MappingProxyType(
    {"eps": "1e-5", "theta": "10000.0", "num_heads": "8", "window": "128"}
)  # for the line of a domain to copy


def ask_for_keyword(operation: str, keyword: str) -> str:
    """Return the rest of a sentence on a function without a required keyword: what to add."""
    line = f'domain = {{"{operation}": {{"{keyword}": ({EXAMPLE_VALUES.get(keyword, "…")},)}}}}'
    return f"has no argument {keyword}: add it, or state the one value that it uses, as in {line}"


def read_parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...] | None:
    """Return the parameters of a function, None if it has no signature."""
    return _read_parameters(function) if type(function) is FunctionType else _inspect_parameters(function)


def _inspect_parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...] | None:
    try:
        return tuple(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None


_read_parameters = lru_cache(maxsize=1024)(_inspect_parameters)  # each trial asks again; an object of a class may change


def find_left_out_argument(spec: Specification, function: Any) -> str:
    """Return an optional array that the function requires, and that most calls leave out, or "" if there is none."""
    optional = [name for name in spec.positional if spec.parameters[name].default is not inspect.Parameter.empty]
    parameters = read_parameters(function) or ()
    required = [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return next((name for name in required if name in optional), "")


def find_unknown_argument(spec: Specification, function: Any) -> str:
    """Return an argument that the function requires and that no call has, or "" if there is none."""
    parameters = read_parameters(function)
    if parameters is None:
        return ""
    arrays = [name for name in spec.positional if spec.parameters[name].default is inspect.Parameter.empty]
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][: len(arrays)]
    required = [
        p.name
        for p in parameters
        if p not in by_position and p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    return next((name for name in required if name not in spec.parameters), "")
