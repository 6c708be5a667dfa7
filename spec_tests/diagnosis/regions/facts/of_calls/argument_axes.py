"""How many axes each array has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .....calls.call import Call
from ..fact import Amount, Fact

ORDER = 4


class Axes(Amount):
    """How many axes an argument has."""

    is_derived = True


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the number of axes of each argument that is an array."""
    for name in call.operation.spec.core:
        if (x := call.named.get(name)) is not None and hasattr(x, "ndim"):
            yield Axes.of(f"axes of {name}", f"the {name}", "axis", "axes"), x.ndim
