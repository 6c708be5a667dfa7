"""The index of a query head among those that share a head of keys and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .....calls.in_domain import dimension_sizes
from ._element_fact import ElementFact, Place

ORDER = 9


class HeadOfGroup(ElementFact):
    """The index of a query head in its group."""

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        if kind == "above":
            return "in each head but the first of its group"
        return f"in the heads with index {values[0]} in their group"


HEAD_OF_GROUP = HeadOfGroup.of("head of its group")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the index in its group, where heads share keys and values."""
    if "head" in place.axes and not place.is_part and (sizes := dimension_sizes(place.call)).get("h_kv", 0) > 0:
        yield HEAD_OF_GROUP, place.index(place.axes.index("head")) % (sizes["h"] // sizes["h_kv"])
