"""What an element counts in the call: the keys that its query sees, and the tokens that have its id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....specification.registry import argument_dimensions
from ..of_calls.seen_keys import count_seen_keys
from ._element_fact import ElementFact, Place

ORDER = 7


@dataclass(frozen=True, eq=False, repr=False)
class Counted(ElementFact):
    """How many of something an element counts: the words for which elements, and for one and for several."""

    which: str
    one: str
    several: str

    is_count = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        if kind == "multiple":
            return f"in {self.which} {values[0]}, {2 * values[0]}, … {self.several}"
        if kind == "remainder":
            step, rest = values
            of_two = f"an {'odd' if rest else 'even'} number of {self.several}"
            return f"in {self.which} {of_two if step == 2 else f'{rest} {self.several} more than a multiple of {step}'}"
        if kind == "above":
            return f"in {self.which} {values[0] + 1} {self.several} or more"
        fewer, unit = "fewer than " if kind == "below" else "", self.one if values == (1,) else self.several
        return f"in {self.which} {fewer}{values[0]} {unit}"


SEEN = Counted.of("keys that the query sees", "queries that see", "key", "keys")
OCCURRENCES = Counted.of("tokens with the id", "rows whose id occurs", "time", "times")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield how many keys the query of each element of a result sees, or how often the id of each row of a table occurs."""
    counts = _count_occurrences(place) if place.is_part else _count_seen(place)
    if counts is not None:
        yield (OCCURRENCES if place.is_part else SEEN), counts


def _count_seen(place: Place) -> np.ndarray | None:
    """Return how many keys the query of each element sees; None for other operations than attention."""
    counts, shape = count_seen_keys(place.call), place.shape
    if counts is None or len(shape) < 2 or counts.shape[-1] != shape[-2]:
        return None
    counts = counts[..., None]
    if counts.ndim > len(shape) or any(a not in (1, b) for a, b in zip(counts.shape[::-1], shape[::-1], strict=False)):
        return None
    return counts


def _count_occurrences(place: Place) -> np.ndarray | None:
    """Return how often the id of each row of a table occurs, if a gradient is that of a table; None for others."""
    ids, labels = place.call.named.get("token_ids"), argument_dimensions(place.call.operation.spec).get(place.name, ())
    if ids is None or labels[:1] != ("vocab",) or len(place.shape) != 2 or not ids.size:
        return None
    counts: np.ndarray = np.bincount(ids.ravel(), minlength=place.shape[0])[: place.shape[0], None]
    return counts
