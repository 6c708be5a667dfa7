"""How the arrays of a call lie in memory, and their dtype."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .....calls.call import Call
from .....implementation.layouts import LAYOUTS
from ....wish import Wish
from ...fills import fill_equal_rows
from ...values import join
from ..fact import Fact, Largest

ORDER = 15


class Layout(Fact):
    """The layout of the arrays in memory."""

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"where arrays are {'' if kind == 'is' else 'not '}stored {join(values)}"

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(layout=value, fill=fill_equal_rows if value == "broadcast" else wish.fill)

    def list_pool(self, values: Sequence[Any]) -> list[Any]:
        return list(LAYOUTS)


class DType(Fact):
    """The dtype of the arrays."""

    def say_values(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"in {join(values)}"


LAYOUT = Layout.of("storage")
DTYPE = DType.of("dtype")


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the layout and the dtype of a call."""
    yield LAYOUT, call.layout
    yield DTYPE, call.operation.dtype
