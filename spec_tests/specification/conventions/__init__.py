"""The conventions: the questions that no equation settles, the known answers to each, and what each makes of the equation.

A backend may state its answers in `conventions`. What it does not state is inferred: `trials/conventions.py` asks the backend,
and `calls/conventions.py` compares each answer with every known value. A file of this folder is a convention; those whose names
begin with _ are the machinery. A convention also needs a function that draws its question, in `open_questions` of
`spec_tests/operations/<operation>.py`, for each of its operations.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from functools import cache, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..registry import specification
from ._convention import Convention, Equation, Value
from ._passing import PASSINGS, Added, Exchanged, Passing, Stored, find_passings

__all__ = [
    "CONVENTIONS",
    "UPDATE",
    "Added",
    "Convention",
    "Equation",
    "Exchanged",
    "Passing",
    "Stored",
    "Value",
    "apply_conventions",
    "conventions_of",
    "describe_statement",
    "find_convention_complaint",
    "find_passings",
]

_NAMES = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem[0] != "_")

CONVENTIONS: Mapping[str, Convention] = MappingProxyType(
    {name: importlib.import_module(f".{name}", __name__).CONVENTION for name in _NAMES}
)

UPDATE = "cache_update"  # which is decided by looking, not by comparing values: see `calls/updates.py`


@cache  # it is asked several times for each call
def conventions_of(operation: str) -> tuple[Convention, ...]:
    """Return the conventions that an operation, or a gradient, depends on, in the order in which they apply.

    Those that decide every call come first, and hold of gradients as well.
    """
    forward = operation.removesuffix("_vjp")
    found = [c for c in CONVENTIONS.values() if (forward if c.decides_every_call else operation) in c.operations]
    return tuple(sorted(found, key=lambda convention: not convention.decides_every_call))


def apply_conventions(equation: Equation, operation: str, values: dict[str, str]) -> Equation:
    """Return the equation of the operation under these values of its conventions. That of the first is applied outermost."""
    for convention in reversed(conventions_of(operation)):
        if convention.name in values:
            value = convention.values[values[convention.name]]
            equation = value.elsewhere.get(operation, value.change)(_with_names(equation, operation))
    return equation


def _with_names(equation: Equation, operation: str) -> Equation:
    """Return the equation with the names of the operation's arguments, by which a convention reads them, if it has none."""
    if all(p.kind is not p.VAR_POSITIONAL for p in inspect.signature(equation).parameters.values()):
        return equation

    @wraps(equation)
    def named(*arguments: Any, **options: Any) -> Any:
        return equation(*arguments, **options)

    named.__signature__ = inspect.signature(specification(operation).reference)  # type: ignore[attr-defined]
    return named


def find_convention_complaint(name: Any, stated: Any) -> str:
    """Return what is wrong with the statement of a convention, or "". It is a value, or a dict of values by operation."""
    convention = CONVENTIONS.get(name) or PASSINGS.get(name)
    if convention is None:
        return f"its conventions name {name!r}; there are {', '.join(sorted((*CONVENTIONS, *PASSINGS)))}"
    for operation, value in stated.items() if isinstance(stated, dict) else [("", stated)]:
        if operation and operation not in convention.operations:
            return f"its conventions state {name} of {operation!r}; it is a convention of {', '.join(convention.operations)}"
        if not isinstance(value, str) or value not in convention.values:
            return f"its conventions state {name} = {value!r}; there are {', '.join(convention.values)}"
    return ""


def describe_statement(stated: str | dict[str, str]) -> str:
    """Return what a backend states of a convention as one text."""
    return stated if isinstance(stated, str) else ", ".join(f"{value} ({operation})" for operation, value in stated.items())
