"""The efforts: how many examples a run tries. The smoke effort is for a quick check before a commit; it supports no claim.

The comparison with the oracle catches most bugs and gets its whole share of examples. At default and smoke effort, another law
gets as many as it needs to catch the bugs that it alone catches: `planned_examples.py` says how many, and from which evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from types import MappingProxyType

from ..specification.run_settings import MEMORY_BUDGET_GB, current_settings, using_settings


@dataclass(frozen=True)
class Effort:
    name: str
    base: int  # examples of an invariant of cost 1, in all its dtypes together
    min_examples_per_dtype: int  # an invariant is tried in fewer dtypes rather than with fewer examples in each
    min_examples: int  # in one dtype, however costly
    plan: float  # the share of its planned examples that a law gets; 0: the number of examples is not planned
    failure_work: float  # of one operation, in units: a quarter to shrink examples, the rest to find their causes
    failure_seconds: float  # after which the safety net ends the work on the failures of one operation
    composed: float = 1.0  # a factor of the cost of operations that are composed of others, which have tests of their own
    max_cost: float = inf  # an invariant whose examples cost more is not tried
    skip_minimal_up_to: int = 4  # with so few examples, skip the minimal one: it is easy to read but rarely finds a bug

    def examples(self, cost: float, dtypes: int) -> int:
        """Return how many examples an invariant of this cost gets in each of so many dtypes."""
        return max(self.min_examples, round(self.base / (cost * dtypes)))

    def planned_examples(self, cost: float, dtypes: int, planned: int) -> int:
        """Return how many examples a law gets in each of so many dtypes, if `planned` are enough in all of them: at least one."""
        share = self.examples(cost, dtypes)
        return min(share, max(1, round(planned * self.plan / dtypes))) if self.plan else share

    def dtypes(self, cost: float) -> int:
        """Return in how many dtypes an invariant of this cost can get the minimal number of examples per dtype."""
        return max(1, int(self.base / (cost * self.min_examples_per_dtype)))


EFFORTS = MappingProxyType(
    {
        "smoke": Effort("smoke", 4, 3, 1, 1 / 8, 600e6, 60.0, composed=2.0, max_cost=15.0),
        "default": Effort("default", 32, 4, 4, 1.0, 1e9, 60.0),
        "thorough": Effort("thorough", 160, 20, 20, 0.0, 12e9, 600.0),
    }
)


def current_effort() -> Effort:
    return EFFORTS[current_settings().effort]


def describe_shapes(number: int | None) -> str:
    """Return the number of shapes as text that follows the effort, "" if there is no limit."""
    return f", {number} shape{'s' * (number > 1)} of each operation" if number else ""


@contextmanager
def using_effort(name: str, shapes: int | None = None) -> Iterator[None]:
    """Use this effort in a block, with the default memory budget."""
    with using_settings(effort=name, shape_count=shapes, memory_budget_gb=MEMORY_BUDGET_GB):
        yield
