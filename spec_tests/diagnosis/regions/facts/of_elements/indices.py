"""The index of an element along each axis, from the front and from the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._element_fact import ORDINALS, ElementFact, Place

ORDER = 1


@dataclass(frozen=True, eq=False, repr=False)
class Index(ElementFact):
    """The index along an axis: the word for one, and for several."""

    one: str
    several: str

    is_index = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        value = values[-1] if values else 0
        if kind == "above":
            return f"in every {self.one} but the first" if value == 0 else f"in {self.several} {value + 1} and up"
        if kind == "below":
            return f"in the first {self.one}" if value == 1 else f"in the first {value} {self.several}"
        if kind == "remainder":
            return f"in every {ORDINALS[values[0]]} {self.one}, from {value} on"
        return f"in {self.one} {value}"


class FromTheEnd(Index):
    """The index along an axis, counted from the last."""

    is_index = False

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        value = values[-1] if values else 0
        if (kind, value) in (("is", 0), ("below", 1)):
            return f"in the last {self.one}"
        if kind == "below":
            return f"in the last {value} {self.several}"
        if kind == "above":
            return f"in every {self.one} but the last" if value == 0 else f"in every {self.one} but the last {value + 1}"
        return f"in every {ORDINALS.get(values[0], values[0])} {self.one}, counted from the last"


COLUMN = Index.of("column", "column", "columns")
ROW = Index.of("row", "row", "rows")
HEAD = Index.of("head", "head", "heads")
BATCH_ENTRY = Index.of("batch entry", "batch entry", "batch entries")
SECOND_BATCH_AXIS = Index.of("second batch axis", "index of the second batch axis", "indices of the second batch axis")

ALONG_AXES = (COLUMN, ROW, HEAD, BATCH_ENTRY, SECOND_BATCH_AXIS)


def from_the_end(index: Index) -> FromTheEnd:
    """Return the fact of an index that is counted from the last."""
    return FromTheEnd.of(f"{index.name} from the end", index.one, index.several)


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the indices along the named axes."""
    named = {index.name: index for index in ALONG_AXES}
    for axis, name in enumerate(place.axes):
        if name:
            fact, index = named[name], place.index(axis)
            yield fact, index
            yield from_the_end(fact), place.shape[axis] - 1 - index
