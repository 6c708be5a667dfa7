"""Conditions that hold together: they make a region of calls, and of elements of their results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .asking import Answer
from .condition import Condition, is_number
from .element_facts import BEYOND


@dataclass(frozen=True)
class Conjunction:
    """Conditions that hold together: some on facts of the call, some on facts of the element."""

    of_call: tuple[Condition, ...] = ()
    of_element: tuple[Condition, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return (*self.of_call, *self.of_element)

    @property
    def complexity(self) -> int:
        return sum(rank_condition(condition) for condition in self.conditions)

    def covers(self, answer: Answer) -> np.ndarray:
        """Return which elements of an answer lie inside; one truth value for an answer without values."""
        size = 1 if answer.wrong is None else answer.wrong.size
        if not all(condition.holds(answer.facts.get(condition.fact)) for condition in self.of_call):
            return np.zeros(size, dtype=bool)
        inside = np.ones(size, dtype=bool)
        for condition in self.of_element:
            values = answer.elements.get(condition.fact) if answer.wrong is not None else None
            inside &= condition.holds_each(values) if values is not None and values.size == size else False
        return inside


DERIVED = ("result", "argument", "=", "largest", "axes", "batch that", "wider", "first batch", "rows of", "before")


def rank_condition(condition: Condition) -> int:
    """Return how complicated a condition is, with its fact: sizes, options and indices come first."""
    fact = condition.fact
    derived = any(word in fact for word in DERIVED) or fact.startswith((BEYOND, "column −", "row of all"))
    continuous = condition.kind in ("above", "below") and isinstance(condition.values[0], float) and condition.values[0] != 0
    return 1 + condition.rank + derived + 2 * continuous + 2 * (condition.kind == "is not" and is_number(condition.values[0]))
