"""Other scales for a cache of few bits in which each slot of each head has its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._cache_scales import each

Change = Callable[[Any, Any], tuple[Any, Any]]


def of_slots(change: Callable[[Any], Any]) -> Change:
    """Return the change of scales that there is one of for each slot. Others stay."""
    return each(lambda scale: change(scale) if scale.ndim > 1 else scale)


def of_neighbour(axis: int, step: int = 1) -> Change:
    """Return the change that gives each slot the scale of another one along an axis: the last slot that of the first."""
    return of_slots(lambda scale: _along(scale, axis, (np.arange(scale.shape[axis]) + step) % max(scale.shape[axis], 1)))


def of_first(axis: int) -> Change:
    """Return the change that gives all slots along an axis the scale of the first."""
    return of_slots(lambda scale: _along(scale, axis, np.zeros(scale.shape[axis], dtype=int)))


def _along(scale: Any, axis: int, places: np.ndarray) -> Any:
    """Return the scales at these places along an axis, in any number type."""
    return scale[(slice(None),) * axis + (places,)]
