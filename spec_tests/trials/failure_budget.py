"""How much work one failure may cost. The failures of an operation share what the effort allows for all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..implementation.backend import Backend
from ..implementation.shapes_seen import ShapeLimit
from ..inputs.effort import current_effort
from ..specification import tuned
from ..specification.run_settings import current_settings
from ..specification.work import Budget

CATALOGUE_SHARE = 0.08  # of the work for the failures of an operation, kept for known bugs, which must not stay without a name
SHARE_OF_ONE_FAILURE = 0.95  # of the work that is left: what one failure may take of it, beside what the catalogue keeps
SHARE_OF_LAST_STEP = 0.05  # of the work for the failures of an operation, kept for a step that begins within it and ends later


@dataclass(frozen=True)
class FailureBudget:
    """The budgets of one failure."""

    known: Budget  # until it is spent, known bugs are looked for
    search: Budget  # for shrinking the example, and for the search for a cause that is not known
    shapes: ShapeLimit  # of the calls that are made for both

    @property
    def is_cut(self) -> bool:
        """Whether the safety net has ended something."""
        return self.known.is_cut


@contextmanager
def budget_of_failure(backend: Backend, operation: str) -> Iterator[FailureBudget]:
    """Give the budgets of the next failure of an operation. Count what the block spends.

    A part of the work that is left is kept for known bugs, and a part for failures with another cause.
    """
    meter, spent = backend.meter, backend.work_after_failures
    before = meter.units
    with backend.safety_net(operation) as is_over, limit_shapes(backend, operation) as shapes:
        known = Budget(meter, work_left(spent.get(operation, 0)), is_over)
        try:
            yield FailureBudget(known, known.limited_to(work_to_search(known.left)), shapes)
        finally:
            spent[operation] = spent.get(operation, 0) + meter.units - before


@contextmanager
def whole_budget(backend: Backend, operation: str) -> Iterator[FailureBudget]:
    """Give all that the effort allows to one failure, as where an example is replayed. It counts for no other."""
    with backend.safety_net(operation) as is_over, limit_shapes(backend, operation) as shapes:
        budget = Budget(backend.meter, current_effort().failure_work, is_over)
        yield FailureBudget(budget, budget, shapes)


@contextmanager
def limit_shapes(backend: Backend, operation: str) -> Iterator[ShapeLimit]:
    """Admit few new shapes in a block, if the run limits its shapes, or if first calls of shapes were seen to take long.

    The first failure of an operation may ask for half of what the operation has, each later one for half of what is left.
    """
    shapes = backend.shapes
    is_dear = current_settings().shape_count is not None or shapes.is_slow
    left, before = tuned.NEW_SHAPES - shapes.searched[operation], shapes.new
    with shapes.limited_to(max(1, left // 2) if is_dear else math.inf) as limit:
        try:
            yield limit
        finally:
            shapes.searched[operation] += shapes.new - before if is_dear else 0


def work_left(spent: float) -> float:
    """Return the work that the next failure of an operation may cost in all, after others have cost `spent`."""
    return max(0.0, (1 - SHARE_OF_LAST_STEP) * current_effort().failure_work - spent)


def work_to_search(left: float) -> float:
    """Return for how much work an operation's next failure may be shrunk and explained, of what its failures have left."""
    return SHARE_OF_ONE_FAILURE * max(0.0, left - CATALOGUE_SHARE * current_effort().failure_work)
