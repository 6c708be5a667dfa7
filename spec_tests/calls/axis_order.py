"""The order of axes in which a backend takes and returns arrays, where it states another one than that of the equation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..specification.conventions import Exchanged
from ..specification.registry import Specification, specification
from ..specification.shapes import Shape

COTANGENT = "cotangent"


@dataclass(frozen=True)
class AxisOrder:
    """Which axis of each array, by its path, is exchanged with the one before it. Axes are counted from the last, as -2.

    To exchange twice changes nothing, so that the same methods lead from the equation to the backend and back.
    """

    axes: Mapping[str, int] = field(default_factory=dict)

    def exchange(self, path: str, x: Any) -> Any:
        """Return an array in the other order, and anything else as it is."""
        if path not in self.axes or not isinstance(x, np.ndarray):
            return x
        axis = self.axes[path]
        return np.ascontiguousarray(np.swapaxes(x, axis - 1, axis))

    def exchange_places(self, path: str, places: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return what stands for each axis, such as a shape or an index, in the other order."""
        if path not in self.axes:
            return places
        axis, exchanged = self.axes[path], list(places)
        exchanged[axis - 1], exchanged[axis] = places[axis], places[axis - 1]
        return tuple(exchanged)

    def exchange_axis(self, path: str, axis: int) -> int:
        """Return the place of an axis in the other order, counted from the last as it is."""
        moved = self.axes.get(path, 0)
        return {moved: moved - 1, moved - 1: moved}.get(axis, axis) if moved else axis


def order_of_arguments(spec: Specification, stated: Sequence[Exchanged]) -> AxisOrder:
    """Return the order of the arguments of an operation. Those of a gradient are a cotangent of each result, too."""
    forward = specification(spec.forward)
    arguments = _find_axes(forward.shapes.arguments, stated)
    if not spec.is_gradient:
        return AxisOrder(arguments)
    results = _find_axes(_shapes_of_results(forward), stated)
    places = {name: f"{COTANGENT}[{number}]" if name else COTANGENT for number, name in enumerate(forward.results)}
    return AxisOrder(arguments | {places[name]: axis for name, axis in results.items()})


def order_of_results(spec: Specification, stated: Sequence[Exchanged]) -> AxisOrder:
    """Return the order of the results of an operation. Those of a gradient have the names of its arguments."""
    forward = specification(spec.forward)
    return AxisOrder(_find_axes(forward.shapes.arguments if spec.is_gradient else _shapes_of_results(forward), stated))


def _shapes_of_results(forward: Specification) -> Mapping[str, Shape]:
    """Return the shape of each result by its name. That of a single one is ""."""
    single = forward.shapes.single
    return forward.shapes.results if forward.has_several_results or single is None else {"": single}


def _find_axes(shapes: Mapping[str, Shape], stated: Sequence[Exchanged]) -> dict[str, int]:
    """Return where an exchanged axis stands in each array in which another one precedes it."""
    return {
        name: shape.labels.index(one.axis) - len(shape.labels)
        for one in stated
        for name, shape in shapes.items()
        if one.axis in shape.labels[1:] and (not one.arrays or name in one.arrays)
    }
