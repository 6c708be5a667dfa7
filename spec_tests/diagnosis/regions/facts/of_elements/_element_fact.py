"""What a fact of elements is, and the array whose elements have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from .....calls.call import Call
from ...fills import Fill
from ...values import join
from ..fact import Fact

ORDINALS = MappingProxyType({2: "second", 3: "third", 4: "fourth"})


@dataclass(frozen=True)
class Place:
    """An array whose elements are described: the result, one of several results, or the gradient of one argument."""

    call: Call
    name: str  # of the argument or the result that it is, "" for a result that is one array
    axes: Sequence[str]  # a name for each axis, "" for those that have none
    right: np.ndarray  # what the elements should be

    @property
    def shape(self) -> tuple[int, ...]:
        return self.right.shape

    @property
    def is_part(self) -> bool:
        """Whether it is one gradient, or one of several results."""
        return bool(self.name)

    def index(self, axis: int) -> np.ndarray:
        """Return the index along an axis."""
        return np.arange(self.shape[axis]).reshape(-1, *[1] * (len(self.shape) - axis - 1))

    def rows_of_all(self) -> np.ndarray | None:
        """Return the number of the row, counted through all batch axes; None without rows."""
        if len(self.shape) < 2:
            return None
        return np.arange(int(np.prod(self.shape[:-1]))).reshape(*self.shape[:-1], 1)


class ElementFact(Fact):
    """A fact of each element of a result."""

    is_index: ClassVar[bool] = False  # a whole number, whatever the dtype of the array that has it
    is_flag: ClassVar[bool] = False
    is_count: ClassVar[bool] = False  # of something that 0 is no multiple of

    def say(self, kind: str, values: tuple[Any, ...]) -> str:
        return f"where {self.name} {say_comparison(kind, values)}"

    @property
    def argument(self) -> str:
        """The argument whose value at the place of the element this is, "" if it is none."""
        return ""

    def list_sizes(self) -> list[int]:
        """Return sizes near which this fact changes."""
        return []

    def fill_some(self, first: str) -> Fill | None:
        """Return a fill of the first argument in which this fact holds of some elements, None if there is none."""
        return None

    def fill_between(self, first: str) -> Callable[[float, float], Fill] | None:
        """Return what makes a fill of the first argument in which this fact lies between two numbers, None if nothing does."""
        return None


def say_comparison(kind: str, values: tuple[Any, ...]) -> str:
    """Return the words for a condition on a number or a text, such as "> 0.5"."""
    if kind == "above":
        return f"> {values[0]:.6g}"
    if kind == "below":
        return f"< {values[0]:.6g}"
    if kind == "remainder":
        step, rest = values
        if step == 2:
            return "is odd" if rest else "is even"
        return f"is {rest} more than a multiple of {step}" if rest else f"is a multiple of {step}"
    return f"is {join(values)}"
