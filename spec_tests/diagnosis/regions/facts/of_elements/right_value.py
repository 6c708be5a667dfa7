"""The right value of an element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._element_fact import ElementFact, Place

ORDER = 8

RIGHT_VALUE = ElementFact.of("the right value")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the right value of each element."""
    yield RIGHT_VALUE, place.right.astype(np.float64)
