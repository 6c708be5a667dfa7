"""Several named arrays as one vector: the results of an operation that has several, or the gradients of several arguments.

A call then has one value, one answer and one bound, as every other call has. Its parts say which elements are whose.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..specification.formats import Format, JoinedFormat


@dataclass(frozen=True)
class Part:
    """One of the arrays: where it starts in the vector, its shape, and the format in which it is stored."""

    name: str
    start: int
    shape: tuple[int, ...]
    storage: Format

    @property
    def elements(self) -> slice:
        """Return the slice of the vector that is this array."""
        return slice(self.start, self.start + math.prod(self.shape))


class Parts:
    """The arrays of a vector, in order."""

    def __init__(self, shapes: dict[str, tuple[int, ...]], formats: dict[str, Format]):
        starts = np.cumsum([0, *map(math.prod, shapes.values())])
        self._parts = [
            Part(name, int(start), shape, formats[name]) for (name, shape), start in zip(shapes.items(), starts, strict=False)
        ]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    @cached_property
    def storage(self) -> Format | JoinedFormat:
        """Return the format of the vector."""
        formats = [part.storage for part in self]
        if len(set(formats)) == 1:
            return formats[0]
        return JoinedFormat([math.prod(part.shape) for part in self], formats)

    def split(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Return each array of a vector by its name."""
        return {part.name: vector[part.elements].reshape(part.shape) for part in self}

    def locate(self, index: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """Return the name of the array that an element of the vector belongs to, and its index there."""
        part = max((p for p in self if p.start <= index[0] and math.prod(p.shape)), key=lambda p: p.start)
        return part.name, np.unravel_index(int(index[0]) - part.start, part.shape)
