"""How many rows a mask or a bias has: one row stands for all queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .....calls.call import Call
from ....wish import Wish
from ..fact import Fact, Largest, say_amount

ORDER = 6


@dataclass(frozen=True, eq=False, repr=False)
class MaskRows(Fact):
    """How many rows an argument has."""

    argument: str

    is_derived = True

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        if (kind, values) in (("is", (1,)), ("below", (2,))):
            return f"with a {self.argument} of one row"
        return say_amount(f"the {self.argument}", "row", "rows", kind, values)

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        rows = [name for name, size in wish.sizes.items() if like.value.shape[-2:-1] == (size,)]
        return wish.but(sizes=dict.fromkeys(rows[:1], int(value)), given={self.argument: True})


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the number of rows of a mask and of a bias."""
    for name in ("mask", "bias"):
        if (x := call.named.get(name)) is not None and hasattr(x, "ndim"):
            yield MaskRows.of(f"rows of {name}", name), x.shape[-2] if x.ndim > 1 else 1
