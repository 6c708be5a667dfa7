"""The shape of the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from .....calls.call import Call
from ....wish import Wish
from ..fact import Amount, Fact, Flag, Largest
from .batch import BATCH_ENTRIES
from .products import Product

ORDER = 3


class OfResult(Amount):
    """How many columns, rows, or axes the result has."""

    is_derived = True


class ResultRows(OfResult):
    """How many rows the result has."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        rows = [name for name, size in wish.sizes.items() if like.value.shape[-2:-1] == (size,)]
        return wish.but(sizes=dict.fromkeys(rows[:1], int(value)))


class Elements(OfResult):
    """How many elements the result has."""

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        """Return the wish with another batch, and other columns."""
        count, size, shape = int(value), like.value.size, like.value.shape
        entries = math.prod(wish.batch) if wish.batch else 0
        if not shape or not shape[-1] or not entries or size % entries:
            return None
        columns = [name for name, length in wish.sizes.items() if length == shape[-1]]
        of_entry = size // entries
        if not columns or of_entry % shape[-1]:
            return wish.but(batch=(count // of_entry,)) if of_entry and count % of_entry == 0 else None
        rows = of_entry // shape[-1]
        if not rows or count % rows:
            return None
        return Product.of_sizes(columns[-1], BATCH_ENTRIES.name).change(wish, count // rows, like, largest)


class SquareResult(Flag):
    """Whether the last two axes of the result are equal."""

    is_derived = True

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        """Return the wish with equal last axes: two dimensions, or a dimension and the batch."""
        if not value:
            return wish
        shape = like.value.shape
        names = [name for name, size in wish.sizes.items() if shape and size == shape[-1]]
        if wish.batch and len(wish.batch) == len(shape) >= 2:  # the axis is reduced, and the batch is the result
            return wish.but(batch=(*wish.batch[:-1], wish.batch[-2]))
        if wish.batch and names and len(wish.batch) == len(shape) - 1:
            return wish.but(batch=(*wish.batch[:-1], wish.sizes[names[-1]]))
        rows = [name for name, size in wish.sizes.items() if len(shape) > 1 and size == shape[-2] and name not in names]
        return wish.but(sizes={rows[0]: wish.sizes[names[-1]]}) if rows and names else None


class UnitAxis(Flag):
    """Whether an axis of the result has size 1."""

    is_derived = True


ELEMENTS = Elements.of("elements of the result", "the result", "element", "elements")
AXES = OfResult.of("axes of the result", "the result", "axis", "axes")
COLUMNS = OfResult.of("columns of the result", "the result", "column", "columns")
ROWS = ResultRows.of("rows of the result", "the result", "row", "rows")
FIRST_AXIS = OfResult.of("first axis of the result", "the first axis of the result", "index", "indices")
UNIT_AXIS = UnitAxis.of(
    "an axis of size 1 in the result", "where the result has an axis of size 1", "where the result has no axis of size 1"
)
SQUARE = SquareResult.of("a square result", "where the result is square", "where the result is not square")


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of a result that is one array, and no gradient."""
    if call.operation.spec.is_gradient or call.parts is not None:
        return
    shape = call.value.shape
    yield ELEMENTS, math.prod(shape)
    yield AXES, len(shape)
    yield COLUMNS, shape[-1] if shape else 1
    yield ROWS, shape[-2] if len(shape) > 1 else 1
    yield FIRST_AXIS, shape[0] if shape else 1
    yield UNIT_AXIS, 1 in shape
    yield SQUARE, len(shape) > 1 and shape[-1] == shape[-2]
