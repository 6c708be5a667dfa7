"""Cut an array into the shards of several ranks, and join them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

CONTIGUOUS, ZIGZAG = "contiguous", "zigzag"
ORDERS = (CONTIGUOUS, ZIGZAG)


@dataclass(frozen=True)
class Cut:
    """How an array is cut: along which axis, and in which order the ranks have the pieces.

    contiguous: as many pieces as ranks, in the order of the ranks, as np.array_split makes them. The first pieces are longer by
    one if the length is no multiple, and pieces are empty if it is less than the number of ranks.
    zigzag: twice as many pieces, and rank r has piece r and piece 2 n - 1 - r of them. Under a causal mask each rank then has as
    much to do as any other.
    """

    axis: int
    order: str = CONTIGUOUS

    def places(self, length: int, world_size: int) -> list[np.ndarray]:
        """Return the indices along the axis that each rank has.

        >>> [list(map(int, x)) for x in Cut(0).places(3, 2)]
        [[0, 1], [2]]
        >>> [list(map(int, x)) for x in Cut(0, "zigzag").places(5, 2)]
        [[0, 1, 4], [2, 3]]
        """
        if self.order == CONTIGUOUS:
            return np.array_split(np.arange(length), world_size)
        pieces = np.array_split(np.arange(length), 2 * world_size)
        return [np.concatenate([pieces[rank], pieces[-1 - rank]]) for rank in range(world_size)]

    def split(self, x: np.ndarray, world_size: int) -> list[np.ndarray]:
        """Return the shard of each rank."""
        return [np.take(x, places, axis=self.axis) for places in self.places(x.shape[self.axis], world_size)]

    def join(self, pieces: Sequence[np.ndarray]) -> np.ndarray:
        """Return the array of which these are the shards. Raise ValueError if they do not fit together.

        >>> Cut(0, "zigzag").join(Cut(0, "zigzag").split(np.arange(5), 2))
        array([0, 1, 2, 3, 4])
        """
        joined = np.concatenate(pieces, axis=self.axis)
        places = np.concatenate(self.places(joined.shape[self.axis], len(pieces)))
        return np.take(joined, np.argsort(places), axis=self.axis)


def as_cut(stated: Any) -> Cut | None:
    """Return what a backend states of one array: an axis, a pair of an axis and an order, or None for the whole array.

    Raise ValueError if it is none of these.

    >>> as_cut(-1), as_cut((0, "zigzag")), as_cut(None)
    (Cut(axis=-1, order='contiguous'), Cut(axis=0, order='zigzag'), None)
    """
    if stated is None:
        return None
    axis, order = stated if isinstance(stated, list | tuple) and len(stated) == 2 else (stated, CONTIGUOUS)
    if type(axis) is not int or order not in ORDERS:
        raise ValueError(f"{stated!r}; give an axis, None for the whole array, or a pair as (-2, 'zigzag')")
    return Cut(axis, order)
