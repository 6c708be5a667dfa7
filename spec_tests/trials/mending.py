"""Records of causes: which are one, and in which order to mend them: parts first, and operations before their gradients."""

from __future__ import annotations

from typing import Any

from ..specification.composition import parts_of
from ..specification.formats import FLOAT64_IN_FLOAT32


def count_parts(operation: str) -> int:
    """Return how many operations the operation is composed of. Those with few are mended first."""
    return len(parts_of(operation))


def mending_order(cause: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key by which the records of causes are sorted: what to mend first comes first."""
    name = cause["operation"]
    is_last = cause["what"].endswith(f"({FLOAT64_IN_FLOAT32})")  # of a backend that is not meant for float64, perhaps
    return (is_last, name.endswith("_vjp"), count_parts(name), cause["kind"] != "exception", -cause["failures"])


def split_key(key: str) -> set[str]:
    """Return the names in the key of a cause. Causes with a name in common are one."""
    return set(key.split(" or "))
