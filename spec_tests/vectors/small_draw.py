"""A draw of small calls: as laws draw, but with no more numbers than a vector may have."""

from __future__ import annotations

import math
from typing import Any

from ..inputs.draw import BATCHES, Draw

MAX_ELEMENTS = 4096  # of a call's arguments and result together: files are to be small
MAX_LONG_ELEMENTS = 9 * 4096  # of one that is there for its size: x, weight, bias and result with the longest row that laws draw


class SmallDraw(Draw):
    """A draw in which each size leaves room for those that are still to be drawn."""

    max_elements = MAX_ELEMENTS

    def size(self, name: str, pool: tuple[int, ...]) -> int:
        room = self.max_elements // 2 // max(1, 1, *self.drawn_sizes.values())
        return super().size(name, tuple(size for size in pool if size <= room) or (min(pool),))

    def batch(self, pool: tuple[tuple[int, ...], ...] = BATCHES) -> tuple[int, ...]:
        fitting = tuple(batch for batch in pool if self._has_room(batch))
        return super().batch(fitting or (min(pool, key=math.prod),))

    def _grid_batches(self, pool: tuple[tuple[int, ...], ...], ranks: Any) -> list[tuple[int, ...]]:
        return [batch for batch in super()._grid_batches(pool, ranks) if self._has_room(batch)]

    def _has_room(self, batch: tuple[int, ...]) -> bool:
        entry = math.prod(sorted(self.drawn_sizes.values())[-2:])
        return math.prod(batch) * entry <= self.max_elements // 2


class LongDraw(SmallDraw):
    """A draw in which dimensions and the batch may be long."""

    max_elements = MAX_LONG_ELEMENTS
