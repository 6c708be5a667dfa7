"""Conditions that hold together: they make a region of calls, and of elements of their results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from .asking import Answer
from .condition import Condition
from .values import is_integer, is_number

MAX_RAISE = 64  # by how much a limit is raised


@dataclass(frozen=True)
class Conjunction:
    """Conditions that hold together: some on facts of the call, some on facts of the element."""

    of_call: tuple[Condition, ...] = ()
    of_element: tuple[Condition, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return (*self.of_call, *self.of_element)

    @cached_property
    def text(self) -> str:
        """The conjunction as text, by which conjunctions are sorted."""
        return repr(self)

    @cached_property
    def complexity(self) -> int:
        return sum(rank_condition(condition) for condition in self.conditions)

    def without(self, condition: Condition) -> Conjunction:
        """Return the conjunction of the other conditions."""
        call, element = (tuple(c for c in part if c is not condition) for part in (self.of_call, self.of_element))
        return Conjunction(call, element)

    def with_condition(self, condition: Condition, *, of_call: bool) -> Conjunction:
        """Return the conjunction with one more condition, in an order that does not depend on how it was found."""
        call, element = self.of_call, self.of_element
        longer = tuple(sorted((*(call if of_call else element), condition), key=lambda one: one.text))
        return Conjunction(longer, element) if of_call else Conjunction(call, longer)

    def tidy(self) -> Conjunction:
        """Return the same region with a lower limit that is inside of it: n > 15 is n > 16 where n is no multiple of 16."""
        return Conjunction(tuple(map(self._raise_limit, self.of_call)), self.of_element)

    def _raise_limit(self, condition: Condition) -> Condition:
        others = [other for other in self.of_call if other.fact == condition.fact and other is not condition]
        if condition.kind != "above" or not is_integer(condition.values[0]) or not others:
            return condition
        limit = condition.values[0]
        while limit - condition.values[0] < MAX_RAISE and not all(other.holds(limit + 1) for other in others):
            limit += 1
        return Condition(condition.fact, "above", (limit,)) if limit - condition.values[0] < MAX_RAISE else condition

    def covers(self, answer: Answer) -> np.ndarray:
        """Return which elements of an answer lie inside; one truth value for an answer without values."""
        size = 1 if answer.wrong is None else answer.wrong.size
        if not all(condition.holds(answer.facts.get(condition.fact)) for condition in self.of_call):
            return np.zeros(size, dtype=bool)
        inside = np.ones(size, dtype=bool)
        for condition in self.of_element:
            values = answer.of_element(condition.fact) if answer.wrong is not None else None
            inside &= condition.holds_each(values) if values is not None and values.size == size else False
        return inside


@cache
def rank_condition(condition: Condition) -> int:
    """Return how complicated a condition is, with its fact: sizes, options and indices come first."""
    continuous = condition.kind in ("above", "below") and isinstance(condition.values[0], float) and condition.values[0] != 0
    excluded = condition.kind == "is not" and is_number(condition.values[0])
    return 1 + condition.rank + condition.fact.is_derived + 2 * continuous + 2 * excluded
