"""How many entries the batch has, and its first axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .....calls.call import Call
from ....wish import Wish
from ..fact import Amount, Fact, Largest

ORDER = 2

ENTRIES = "batch entries"  # a size beside those of dimensions, where sizes are compared


class BatchEntries(Amount):
    """How many entries the batch has."""

    is_of_batch = True

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(batch=(int(value),))


class FirstAxis(Amount):
    """The size of the first axis of the batch."""

    is_derived, is_of_batch = True, True

    def change(self, wish: Wish, value: Any, like: Call, largest: Largest) -> Wish | None:
        return wish.but(batch=(int(value), *(wish.batch or ())[1:]))


BATCH_ENTRIES = BatchEntries.of(ENTRIES, "the batch", "entry", "entries")
FIRST_AXIS = FirstAxis.of("first batch axis", "the first batch axis", "entry", "entries")


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield the facts of the batch of the first argument."""
    first = next((x for x in call.named.values() if isinstance(x, np.ndarray)), None)
    if first is not None:
        core = next(iter(call.operation.spec.core.values()), 0) or 1
        batch = first.shape[: max(first.ndim - core, 0)]
        yield BATCH_ENTRIES, math.prod(batch)
        yield FIRST_AXIS, batch[0] if batch else 1
