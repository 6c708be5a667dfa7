"""The order in which to mend causes: parts first, and operations before their gradients."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..specification.composition import parts_of
from ..specification.formats import FLOAT64_IN_FLOAT32


def count_parts(operation: str) -> int:
    """Return how many operations the operation is composed of. Those with few are mended first."""
    return len(parts_of(operation))


def mending_order(operation: str, kind: str, ids: Collection[str], failures: int) -> tuple[Any, ...]:
    """Return the key by which causes are sorted: what to mend first comes first."""
    is_last = FLOAT64_IN_FLOAT32 in ids  # of a backend that is not meant for float64, perhaps
    return (is_last, operation.endswith("_vjp"), count_parts(operation), kind != "exception", -failures)
