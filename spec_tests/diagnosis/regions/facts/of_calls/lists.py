"""How many arrays a list holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .....calls.call import Call
from ..fact import Amount, Fact

ORDER = 12


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the length of each argument that is a list."""
    for name, x in call.named.items():
        if isinstance(x, list):
            yield Amount.of(f"arrays in {name}", name, "array", "arrays"), len(x)
