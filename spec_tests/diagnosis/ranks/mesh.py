"""The ranks as a mesh: what each has of an array, and what each has after a step in which those along one axis meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from ...calls.ranks import Placed, StatedCut
from ...specification.pytree import tree_map
from ..operator.alternative import take
from .steps import Values, total


@dataclass(frozen=True)
class Mesh:
    """The axes of a mesh by name, and the number of ranks along each. The name is "" if the ranks are in one row."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def count(self) -> int:
        return prod(self.sizes)

    @cached_property
    def coordinates(self) -> list[tuple[int, ...]]:
        """Return the coordinates of each rank.

        >>> Mesh(("dp", "tp"), (2, 2)).coordinates
        [(0, 0), (0, 1), (1, 0), (1, 1)]
        """
        return [*np.ndindex(*self.sizes)]

    def groups(self, axis: int) -> list[list[int]]:
        """Return the ranks that meet along an axis.

        >>> Mesh(("dp", "tp"), (2, 2)).groups(0)
        [[0, 2], [1, 3]]
        """
        numbers = np.moveaxis(np.arange(self.count).reshape(self.sizes), axis, -1)
        return [[*map(int, group)] for group in numbers.reshape(-1, self.sizes[axis])]

    def along(self, axis: int, pieces: Sequence[Any], step: Callable[[Values], Values]) -> Values:
        """Return what each rank has after a step that takes what those along one axis have."""
        found = list(pieces)
        for group in self.groups(axis):
            for rank, y in zip(group, step([pieces[rank] for rank in group]), strict=True):
                found[rank] = y
        return found

    def say(self, axis: int, text: str) -> str:
        """Return a sentence about ranks that meet along an axis."""
        return f"along {self.names[axis]}, {text}" if self.names[axis] else text

    def say_of(self, axis: int, noun: str) -> str:
        """Return what parts along an axis are called."""
        return f"{noun} along {self.names[axis]}" if self.names[axis] else noun

    def divide(self, placed: Sequence[Placed], x: Any) -> Values:
        """Return what each rank has of an array: its part along each axis of the mesh along which it is cut."""
        return [tree_map(partial(self._take, placed, at), x) for at in self.coordinates]

    def _take(self, placed: Sequence[Placed], coordinate: tuple[int, ...], x: Any) -> Any:
        for cut, size, at in zip(placed, self.sizes, coordinate, strict=True):
            x = x if cut is None or isinstance(cut, str) or not hasattr(x, "shape") else take_part(cut, x, at, size)
        return x

    def unite(self, placed: Sequence[Placed], pieces: Sequence[Any], *, is_gathered: bool = False) -> Values:
        """Return the whole array of which each rank has a piece. Raise ValueError if the pieces do not fit.

        If code gathers them, pieces of any lengths fit: they are laid in a row before their entries are put in order.
        """
        for axis in reversed(range(len(placed))):
            cut = placed[axis]
            if cut is not None:
                pieces = self.along(axis, pieces, partial(_unite, cut, is_gathered))
        return list(pieces)


def take_part(cut: StatedCut, x: Any, rank: int, count: int) -> Any:
    axis = cut.axis if cut.axis < 0 else cut.axis - x.ndim
    return take(x, cut.places(x.shape[axis], count)[rank], axis)


def _unite(cut: StatedCut | str, is_gathered: bool, own: Values) -> Values:
    if isinstance(cut, str):
        return [total(own)] * len(own)
    axis = cut.axis if cut.axis < 0 else cut.axis - own[0].ndim
    joined = np.concatenate(own, axis=axis)
    places = cut.places(joined.shape[axis], len(own))
    if not is_gathered and [len(of_rank) for of_rank in places] != [y.shape[axis] for y in own]:
        raise ValueError("a piece has another length")
    return [take(joined, np.argsort(np.concatenate(places)), axis)] * len(own)
