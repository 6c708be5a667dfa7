"""Cut an array into the shards of several ranks, and join them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

CONTIGUOUS, CHUNK, ZIGZAG, STRIPED = "contiguous", "chunk", "zigzag", "striped"
ORDERS = (CONTIGUOUS, CHUNK, ZIGZAG, STRIPED)
SAID_OF_ORDERS = MappingProxyType(
    {
        CONTIGUOUS: "contiguous parts",
        CHUNK: "parts as torch.chunk makes them",
        ZIGZAG: "zigzag parts",
        STRIPED: "striped parts",
    }
)


@dataclass(frozen=True)
class Cut:
    """How an array is cut: along which axis, and in which order the ranks have the pieces.

    contiguous: as many pieces as ranks, in the order of the ranks, as np.array_split makes them. The first pieces are longer by
    one if the length is no multiple, and pieces are empty if it is less than the number of ranks.
    chunk: as many pieces, as torch.chunk makes them. Each has ceil(length / ranks) entries, and the last ones have what is left.
    zigzag: twice as many pieces, and rank r has piece r and piece 2 n - 1 - r of them. Under a causal mask each rank then has as
    much to do as any other.
    striped: rank r has the entries r, r + n, r + 2 n and so on.

    `heads` says how many heads lie along the axis: a number, the name of an argument, or names joined by "or", of which the
    first that is a number in a call counts. Each rank then has whole heads. Several numbers are those of arrays that lie one
    after the other, as the queries, keys and values of one weight. Each rank has heads of all of them. `fused` says how long
    such arrays are in relation to each other, where each is cut between any entries.
    """

    axis: int
    order: str = CONTIGUOUS
    heads: tuple[int | str, ...] = ()
    fused: tuple[int, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the places depend on the length of the axis alone, and fit every length."""
        return not self.heads and not self.fused

    def at(self, named: Mapping[str, Any]) -> Cut:
        """Return the cut with numbers in place of the names of arguments. Raise ValueError if a call has no such number."""
        return replace(self, heads=tuple(named[choose_name(x, named)] if isinstance(x, str) else x for x in self.heads))

    def count_own(self, named: Mapping[str, Any], rank: int, world_size: int) -> dict[str, int]:
        """Return how many heads a rank has, by the name of the argument that says how many there are.

        >>> Cut(0, heads=("num_heads", 2)).count_own({"num_heads": 3}, 0, 2)
        {'num_heads': 2}
        """
        names = [choose_name(x, named) for x in self.heads if isinstance(x, str)]
        return {name: len(_order(self.order, named[name], world_size)[rank]) for name in names}

    def list_others(self, like: Sequence[Cut] = ()) -> dict[str, Cut]:
        """Return the cuts along the same axis that code may take this one for, by what they are called.

        like: how other arrays of the operation are cut, perhaps by heads.

        >>> [*Cut(0, "striped").list_others()]
        ['contiguous parts', 'parts as torch.chunk makes them', 'zigzag parts', 'parts of each of two arrays']
        """
        found = {said: Cut(self.axis, order) for order, said in SAID_OF_ORDERS.items()}
        found["parts of each of two arrays"] = Cut(self.axis, fused=(1, 1))
        for cut in like:
            if cut.heads:
                found[f"whole heads of {' and '.join(map(str, cut.heads))}"] = replace(cut, axis=self.axis)
            elif cut.fused:
                found[f"parts of each of arrays as {cut.fused}"] = replace(cut, axis=self.axis)
        return {said: cut for said, cut in found.items() if cut != self}

    def places(self, length: int, world_size: int) -> list[np.ndarray]:
        """Return the indices along the axis that each rank has. Raise ValueError if the length does not fit.

        >>> [list(map(int, x)) for x in Cut(0).places(3, 2)]
        [[0, 1], [2]]
        >>> [list(map(int, x)) for x in Cut(0, "chunk").places(5, 4)]
        [[0, 1], [2, 3], [4], []]
        >>> [list(map(int, x)) for x in Cut(0, "zigzag").places(5, 2)]
        [[0, 1, 4], [2, 3]]
        >>> [list(map(int, x)) for x in Cut(0, "striped").places(5, 2)]
        [[0, 2, 4], [1, 3]]
        >>> [list(map(int, x)) for x in Cut(0, heads=(3,)).places(6, 2)]
        [[0, 1, 2, 3], [4, 5]]
        >>> [list(map(int, x)) for x in Cut(0, heads=(2, 1, 1)).places(8, 2)]
        [[0, 1, 4, 5, 6, 7], [2, 3]]
        >>> [list(map(int, x)) for x in Cut(0, fused=(1, 1)).places(6, 2)]
        [[0, 1, 3, 4], [2, 5]]
        """
        counts, unit = self._measure(length)
        starts = np.cumsum((0, *counts))
        parts = [[start + own for own in _order(self.order, n, world_size)] for start, n in zip(starts, counts, strict=False)]
        owned = (np.concatenate(of_rank) for of_rank in zip(*parts, strict=True))
        return [(own[:, None] * unit + np.arange(unit)).reshape(-1).astype(int) for own in owned]

    def _measure(self, length: int) -> tuple[tuple[int, ...], int]:
        """Return the number of units in each of the arrays that lie along the axis, and the length of a unit."""
        if not self.heads and not self.fused:
            return (length,), 1
        shares = tuple(int(x) for x in self.heads or self.fused)
        if length % sum(shares):
            raise ValueError(f"axis {self.axis} has {length} entries, no multiple of {sum(shares)}")
        unit = length // sum(shares)
        return (shares, unit) if self.heads else (tuple(share * unit for share in shares), 1)

    def split(self, x: np.ndarray, world_size: int) -> list[np.ndarray]:
        """Return the shard of each rank."""
        return [np.take(x, places, axis=self.axis) for places in self.places(x.shape[self.axis], world_size)]

    def join(self, pieces: Sequence[np.ndarray]) -> np.ndarray:
        """Return the array of which these are the shards. Raise ValueError if they do not fit together.

        >>> Cut(0, "zigzag").join(Cut(0, "zigzag").split(np.arange(5), 2))
        array([0, 1, 2, 3, 4])
        """
        joined = np.concatenate(pieces, axis=self.axis)
        places = self.places(joined.shape[self.axis], len(pieces))
        if [len(own) for own in places] != [piece.shape[self.axis] for piece in pieces]:
            raise ValueError("a piece has another length")
        return np.take(joined, np.argsort(np.concatenate(places)), axis=self.axis)


def choose_name(stated: str, named: Mapping[str, Any]) -> str:
    """Return the first of some names, joined by "or", whose argument is a number. Raise ValueError if none is.

    >>> choose_name("num_kv_heads or num_heads", {"num_kv_heads": None, "num_heads": 6})
    'num_heads'
    """
    found = [name for name in split_names(stated) if type(named.get(name)) is int]
    if not found:
        raise ValueError(f"it is cut by {stated} heads, and the call has no number {stated}")
    return found[0]


def split_names(stated: str) -> list[str]:
    return stated.split(" or ")


def _order(order: str, length: int, world_size: int) -> list[np.ndarray]:
    """Return which of so many entries each rank has."""
    entries = np.arange(length)
    if order == STRIPED:
        return [entries[rank::world_size] for rank in range(world_size)]
    if order == CHUNK:
        size = -(-length // world_size)
        return [entries[rank * size : (rank + 1) * size] for rank in range(world_size)]
    if order == ZIGZAG:
        pieces = np.array_split(entries, 2 * world_size)
        return [np.concatenate([pieces[rank], pieces[-1 - rank]]) for rank in range(world_size)]
    return np.array_split(entries, world_size)
