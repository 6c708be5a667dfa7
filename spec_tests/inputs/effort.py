"""How much to try. Smoke is for the moment before a commit and supports no claim of conformance."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Effort:
    name: str
    base: int  # examples of an invariant, in all its dtypes together
    min_examples_per_dtype: int  # in each of them; where that would be too many, it is tried in fewer
    min_examples: int  # of the costliest, in one dtype
    shrink_seconds: float
    composed: float = 1.0  # what is made of operations costs so much more: they are tried by themselves
    max_cost: float = inf  # a law whose examples cost more is not tried
    skip_minimal_up_to: int = 0  # of so many examples none is the plainest, which is there to be read, and finds little

    def examples(self, cost: float, dtypes: int) -> int:
        return max(self.min_examples, round(self.base / (cost * dtypes)))

    def dtypes(self, cost: float) -> int:
        """In so many dtypes at most: more would have fewer than the least examples each."""
        return max(1, int(self.base / (cost * self.min_examples_per_dtype)))


EFFORTS = {
    "smoke": Effort("smoke", 4, 3, 1, 2.0, composed=2.0, max_cost=15.0, skip_minimal_up_to=4),
    "default": Effort("default", 32, 4, 4, 8.0),
    "thorough": Effort("thorough", 160, 20, 20, 30.0),
}
MEMORY_BUDGET_GB = 4.0  # gigabytes of memory that one call and what it is compared with may take
_current, _budget = "default", MEMORY_BUDGET_GB
_shapes: int | None = None


def set_effort(name: str, budget: float = MEMORY_BUDGET_GB, shapes: int | None = None) -> None:
    global _current, _budget, _shapes
    _current, _budget, _shapes = name, budget, shapes


def memory_budget() -> float:
    return _budget


def shape_count() -> int | None:
    """So many of each operation at most; None where there is no limit."""
    return _shapes


def describe_shapes(number: int | None) -> str:
    """What is said of a run after its effort."""
    return f", {number} shape{'s' * (number > 1)} of each operation" if number else ""


def current_effort() -> Effort:
    return EFFORTS[_current]


@contextmanager
def using_effort(name: str, shapes: int | None = None) -> Iterator[None]:
    """For a while, this effort."""
    before = _current, _budget, _shapes
    set_effort(name, shapes=shapes)
    try:
        yield
    finally:
        set_effort(*before)
