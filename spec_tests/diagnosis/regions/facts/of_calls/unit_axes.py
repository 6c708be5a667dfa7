"""Whether no axis of an argument has size 1, at which many errors vanish."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .....calls.call import Call
from .....specification.pytree import leaves
from ..fact import Fact, Flag

ORDER = 14

SEVERAL = Flag.of(
    "several rows and columns", "where no axis of an argument has size 1", "where an axis of an argument has size 1"
)


def read(call: Call, known: Mapping[Fact, Any]) -> Iterator[tuple[Fact, Any]]:
    """Yield whether all axes of all arrays are longer than 1."""
    arrays = [x for _, x in leaves(call.named) if isinstance(x, np.ndarray)]
    yield SEVERAL, bool(arrays) and all(size > 1 for x in arrays for size in x.shape)
