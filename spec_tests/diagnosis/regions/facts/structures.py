"""How the entries of a row stand to one another: what fast paths of kernels look at, whatever the values are.

`specification/structures.py` arranges rows of these structures for every law.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ....specification import structures
from ....specification.structures import Structure
from ..fills import Fill


@dataclass(frozen=True)
class RowStructure:
    """A structure of rows: what is said of a row that has it, and of one that has it not, and what arranges rows in it."""

    has: str
    has_not: str
    arrange: Structure

    def fill(self, share: float) -> Fill:
        """Return what draws normal numbers, of which about this share of the rows has the structure."""

        def fill(rng: np.random.Generator, shape: tuple[int, int], _: Any) -> Any:
            x = rng.standard_normal(shape)
            return np.where(rng.random((shape[0], 1)) < share, self.arrange(rng, x), x)

        return fill


def _end_with_0(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.where(np.arange(x.shape[1]) < x.shape[1] - 1, structures.padded(rng, x), 0.0)


def _begin_with_0(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return _end_with_0(rng, x[:, ::-1])[:, ::-1]


def _zero(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x)


ASCENDS = RowStructure("ascends", "does not ascend", structures.ascending)
DESCENDS = RowStructure("descends", "does not descend", structures.descending)
NOT_NEGATIVE = RowStructure("has no negative number", "has a negative number", structures.not_negative)
NOT_POSITIVE = RowStructure("has no positive number", "has a positive number", structures.not_positive)
ENDS_WITH_0 = RowStructure("ends with 0", "does not end with 0", _end_with_0)
BEGINS_WITH_0 = RowStructure("begins with 0", "does not begin with 0", _begin_with_0)
IS_0 = RowStructure("is 0", "is not 0", _zero)
LARGEST_FIRST = RowStructure(
    "begins with its largest magnitude", "does not begin with its largest magnitude", structures.far_first
)
LARGEST_LAST = RowStructure("ends with its largest magnitude", "does not end with its largest magnitude", structures.far_last)
IN_PAIRS = RowStructure("repeats every second entry", "does not repeat every second entry", structures.equal_in_pairs)


def find_structures(rows: np.ndarray) -> Mapping[RowStructure, np.ndarray]:
    """Return which rows, along the last axis, have each structure. Rows without entries have all of them."""
    with np.errstate(invalid="ignore", over="ignore"):
        steps, size = np.diff(rows, axis=-1), np.abs(rows)
        largest = np.max(size, axis=-1, initial=0.0)
    is_zero, even = rows == 0, rows.shape[-1] // 2 * 2
    return MappingProxyType(
        {
            ASCENDS: (steps >= 0).all(axis=-1),
            DESCENDS: (steps <= 0).all(axis=-1),
            NOT_NEGATIVE: (rows >= 0).all(axis=-1),
            NOT_POSITIVE: (rows <= 0).all(axis=-1),
            ENDS_WITH_0: is_zero[..., -1:].all(axis=-1),
            BEGINS_WITH_0: is_zero[..., :1].all(axis=-1),
            IS_0: is_zero.all(axis=-1),
            LARGEST_FIRST: (size[..., :1] == largest[..., None]).all(axis=-1),
            LARGEST_LAST: (size[..., -1:] == largest[..., None]).all(axis=-1),
            IN_PAIRS: (rows[..., :even:2] == rows[..., 1:even:2]).all(axis=-1),
        }
    )
