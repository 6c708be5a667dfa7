"""Whether a column lies after the whole blocks of a size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._element_fact import ElementFact, Place

ORDER = 2

BLOCKS = (4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, eq=False, repr=False)
class BeyondBlocks(ElementFact):
    """Whether an index lies after the last whole block of so many."""

    block: int
    indices: str

    is_derived = is_flag = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"in the {self.indices} {'after the last whole block' if values[0] else 'of the whole blocks'} of {self.block}"

    def list_sizes(self) -> list[int]:
        return [self.block]


class ColumnsBeyondBlocks(BeyondBlocks):
    """Whether a column lies after the last whole block of a row."""


def beyond_columns(block: int) -> ColumnsBeyondBlocks:
    """Return the fact whether a column lies after the last whole block of so many columns."""
    return ColumnsBeyondBlocks.of(f"beyond the whole blocks of {block}", block, "columns")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield where each column of a result lies in blocks. Gradients and several results have no such facts."""
    for axis, name in enumerate(() if place.is_part else place.axes):
        if name == "column":
            index, size = place.index(axis), place.shape[axis]
            yield from ((beyond_columns(block), index >= size // block * block) for block in BLOCKS)
