"""Whether an index is reached by as many whole blocks as cover another size: a grid made from the wrong size leaves some out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....calls.in_domain import dimension_sizes
from ._element_fact import ElementFact, Place
from .indices import COLUMN, ROW, Index
from .rows import ROW_OF_ALL

ORDER = 5

BLOCKS = (8, 16, 32, 64, 128)


@dataclass(frozen=True, eq=False, repr=False)
class Uncovered(ElementFact):
    """Whether an index is not reached by the blocks that cover a size."""

    several: str
    limit: str

    is_derived = is_flag = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"in the {self.several} from {self.limit} on" if values[0] else f"in the {self.several} before {self.limit}"


def uncovered(index: Index, size: str, block: int) -> Uncovered:
    """Return the fact whether an index is not reached by the blocks of so many that cover a size."""
    limit = f"⌈{size} / {block}⌉ · {block}"
    return Uncovered.of(f"{index.name} from {limit} on", index.several, limit)


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield which indices of a result are not reached, where some are not."""
    if place.is_part:
        return
    axes = [(axis, {"row": ROW, "column": COLUMN}[name]) for axis, name in enumerate(place.axes) if name in ("row", "column")]
    indices: dict[Index, np.ndarray] = {fact: place.index(axis) for axis, fact in axes}
    if (rows := place.rows_of_all()) is not None:
        indices[ROW_OF_ALL] = rows
    for (fact, index), (name, size), block in itertools.product(indices.items(), dimension_sizes(place.call).items(), BLOCKS):
        if (end := -(-size // block) * block) < index.size:
            yield uncovered(fact, name, block), index >= end
