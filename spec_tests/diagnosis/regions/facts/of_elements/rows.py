"""The number of the row of an element, counted through all batch axes, and how far it lies from the diagonal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ._element_fact import ElementFact, Place
from .indices import Index

ORDER = 3


class RowOfAll(Index):
    """The number of the row, counted through all batch axes."""

    is_derived, is_index = True, False


class Diagonal(ElementFact):
    """How far the column lies to the right of the diagonal."""

    is_derived = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        value = values[-1]
        if kind == "above":
            return "above the diagonal" if value == 0 else f"where {self.name} is at least {value + 1}"
        if kind == "below":
            return "below the diagonal" if value == 0 else f"where {self.name} is at most {value - 1}"
        return "on the diagonal" if value == 0 and kind == "is" else f"where {self.name} is {value}"


ROW_OF_ALL = RowOfAll.of("row of all", "row", "rows")
DIAGONAL = Diagonal.of("column − row")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the number of the row, and the distance to the diagonal where there are rows and columns."""
    if (rows := place.rows_of_all()) is not None:
        yield ROW_OF_ALL, rows
    if {"row", "column"} <= set(place.axes):
        yield DIAGONAL, place.index(place.axes.index("column")) - place.index(place.axes.index("row"))
