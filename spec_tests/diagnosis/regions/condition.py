"""Conditions on one fact of a call or of an element, such as d > 8: what regions are made of.

`facts/` has the facts: the size of a dimension, the value of a keyword, whether there is a mask, an index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from .facts.fact import Fact
from .values import is_number


@dataclass(frozen=True)
class Condition:
    """A condition on one fact. `kind` is a key of KINDS, and `values` are its numbers or values."""

    fact: Fact
    kind: str
    values: tuple[Any, ...]

    @cached_property
    def text(self) -> str:
        """The condition as text, by which conditions are sorted."""
        return repr(self)

    @cached_property
    def _hash(self) -> int:
        return hash((self.fact, self.kind, self.values))

    def __hash__(self) -> int:
        return self._hash

    def holds(self, value: Any) -> bool:
        """Whether a value of the fact meets the condition. A value of another type than the condition is about does not."""
        if KINDS[self.kind].numeric and not is_number(value):
            return False
        return (
            bool(KINDS[self.kind].test(np.asarray(value), *self.values)) if KINDS[self.kind].numeric else self._is_listed(value)
        )

    def holds_each(self, values: np.ndarray) -> np.ndarray:
        """Return which values of an array meet the condition. NaN meets none."""
        if KINDS[self.kind].numeric:
            with np.errstate(all="ignore"):
                return np.asarray(KINDS[self.kind].test(values, *self.values)) & ~np.isnan(values)
        listed = np.isin(values, self.values)
        return np.asarray(listed if self.kind == "is" else ~listed)

    def _is_listed(self, value: Any) -> bool:
        return any(type(value) is type(one) and value == one for one in self.values) is (self.kind == "is")

    @property
    def words(self) -> str:
        """The condition in words, such as "where d is odd"."""
        return self.fact.say(self.kind, self.values)

    @property
    def rank(self) -> int:
        """Return how complicated the condition is: the lower, the sooner it is said."""
        return KINDS[self.kind].rank + (len(self.values) - 1 if self.kind in ("is", "is not") else 0)


@dataclass(frozen=True)
class Kind:
    """A kind of condition: its test on an array of numbers, and how complicated it is."""

    test: Callable[..., Any]
    rank: int
    numeric: bool = True


def _is_power_of_two(values: Any) -> Any:
    exponent = np.log2(np.maximum(values, 1))
    return (values > 1) & (exponent == np.rint(exponent))


def _list_test(*_: Any) -> Any:
    raise TypeError("a list of values is not tested as a number is")


KINDS = MappingProxyType(
    {
        "above": Kind(lambda x, limit: x > limit, 1),
        "below": Kind(lambda x, limit: x < limit, 1),
        "no multiple": Kind(lambda x, step: x % step != 0, 2),
        "multiple": Kind(lambda x, step: (x % step == 0) & (x != 0), 2),
        "remainder": Kind(lambda x, step, remainder: x % step == remainder, 3),
        "power of two": Kind(_is_power_of_two, 2),
        "no power of two": Kind(lambda x: (x > 2) & ~_is_power_of_two(x), 2),
        "is": Kind(_list_test, 1, numeric=False),
        "is not": Kind(_list_test, 2, numeric=False),
    }
)
