"""Which keywords a function takes, where a law depends on them."""

from __future__ import annotations

from typing import Any

from ..calls.operation import Operation
from ..calls.violation import NotImplementedVariant
from ..inputs.draw import Draw


def accepted_keywords(draw: Draw, *names: str) -> tuple[str, ...]:
    """Return those of the keywords that the function takes. It must take one."""
    found = tuple(name for name in names if draw.operation.accepts(name))
    if not found:
        raise NotImplementedVariant(f"{draw.operation.name} takes none of {', '.join(dict.fromkeys(names))}", "signature")
    return found


def accepted(operation: Operation, *names: str) -> tuple[str, ...]:
    """Return those of the keywords that the function takes, if any."""
    return tuple(name for name in names if operation.accepts(name))


def require_accepted(keywords: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """Return the keywords. The operation must take all of them that have a value."""
    for name, value in keywords.items():
        if value is not None and not operation.accepts(name):
            raise NotImplementedVariant(f"{operation.backend.name}'s {operation.name} takes no {name}", "signature")
    return keywords
