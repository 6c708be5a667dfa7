"""The layouts of a backend that states none, since its process has all devices: those in which ranks are known to compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...calls.call import Call
from ...calls.ranks import Cut, find_statement
from ...specification.registry import Specification, specification
from .equations import list_cuts
from .layout import Layout
from .mesh_layout import MeshLayout


@dataclass(frozen=True)
class Chunks:
    """A cut into parts of one length, rounded up, of which the last may be shorter: as where an axis is filled up."""

    axis: int

    def places(self, length: int, world_size: int) -> list[np.ndarray]:
        """Return the indices along the axis that each rank has.

        >>> [list(map(int, x)) for x in Chunks(0).places(5, 3)]
        [[0, 1], [2, 3], [4]]
        """
        size = -(-length // world_size)
        return np.split(np.arange(length), np.minimum(size * np.arange(1, world_size), length))


@dataclass(frozen=True)
class GuessedStatement:
    """What a backend may mean: the axes along which arrays are cut, by name."""

    spec: Specification
    axes: Mapping[str, int | None]

    def of_argument(self, operation: str, name: str) -> Cut | None:
        return _cut(self.axes.get(name.partition("[")[0]))

    def of_result(self, operation: str, name: str = "") -> Cut | None:
        """Return how a result is cut. One that lacks the last axis of the first, as an lse, is cut along the axis before."""
        axis = self.axes.get("result")
        is_first = not name or name == next(iter(self.spec.results))
        return _cut(axis if axis is None or is_first else axis + 1)


def _cut(axis: int | None) -> Chunks | None:
    return None if axis is None else Chunks(axis)


def list_layouts(calls: list[Call]) -> Iterator[Layout | MeshLayout]:
    """Yield the layouts of calls of one operation: the stated one, or those that are possible on several devices."""
    if not calls:
        return
    operation = calls[0].operation
    if (stated := find_statement(calls[0])) is not None:
        yield Layout.of(calls, stated)
    elif (on_mesh := MeshLayout.of(calls)) is not None:
        yield on_mesh
    elif operation.backend.framework.world_size > 1 and not hasattr(operation.backend, "shards"):
        spec = operation.spec
        forward = specification(spec.forward) if spec.is_gradient else spec
        for cuts in list_cuts(forward.name):
            yield Layout.of(calls, GuessedStatement(forward, cuts))
