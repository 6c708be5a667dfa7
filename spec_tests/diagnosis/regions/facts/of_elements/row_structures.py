"""How the entries of the row of an element stand to one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....specification.formats import is_floating
from ...fills import Fill
from ..structures import RowStructure, find_structures
from ._element_fact import ElementFact, Place

ORDER = 10

SHARE = 0.5  # of the rows that have the structure, where it is asked for


@dataclass(frozen=True, eq=False, repr=False)
class OfItsRow(ElementFact):
    """Whether the row of an argument that belongs to the element has a structure."""

    owner: str
    structure: RowStructure

    is_derived = is_flag = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"where the row of {self.owner} {self.structure.has if values[0] else self.structure.has_not}"

    def fill_some(self, first: str) -> Fill | None:
        return self.structure.fill(SHARE) if self.owner == first else None


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the structures of the rows of the first argument, where the result has a row or an element for each of them."""
    name = next(iter(place.call.named), "")
    x, axis = place.call.named.get(name), place.call.keywords.get("axis", -1)
    if place.is_part or not (isinstance(x, np.ndarray) and is_floating(x) and x.ndim and x.size):
        return
    rows = np.moveaxis(x, axis, -1)
    for structure, holds in find_structures(rows).items():
        fact = OfItsRow.of(f"the row of {name} {structure.has}", name, structure)
        kept = np.expand_dims(holds, axis)
        if kept.ndim == len(place.shape) and all(a in (b, 1) for a, b in zip(kept.shape, place.shape, strict=True)):
            yield fact, kept
        elif holds.shape == place.shape:
            yield fact, holds
