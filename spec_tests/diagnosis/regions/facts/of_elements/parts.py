"""Which of several arrays an element belongs to: the result, or the argument whose gradient it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...values import join
from ._element_fact import ElementFact, Place

ORDER = 0


@dataclass(frozen=True, eq=False, repr=False)
class Part(ElementFact):
    """The name of the array: the words before it."""

    words: str

    is_derived = True

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"in the {self.words}{join(values)}"


GRADIENT = Part.of("argument", "gradient of ")
RESULT = Part.of("result", "result ")


def read(place: Place) -> Iterator[tuple[ElementFact, np.ndarray]]:
    """Yield the name of a gradient, or of one of several results."""
    if place.is_part:
        yield (GRADIENT if place.call.operation.spec.is_gradient else RESULT), np.array(place.name)
