"""The safety net of what follows a failure: the one clock that ends a search.

What a search may do is counted in work, so that every machine says the same. A backend that answers slowly could still hold a run
up for hours. Therefore the failures of one operation have a limit of time together. The time in which other processes have the
cores does not count. A message says where the net ended a search.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..inputs.effort import current_effort
from ..specification.work import IsOver
from .working_clock import WorkingClock


class SafetyNet:
    """The seconds that the failures of each operation of one backend have taken. Calling it watches a block."""

    def __init__(self, clock: Callable[[], float] | None = None):
        self.clock, self.spent = clock or WorkingClock(), defaultdict[str, float](float)

    @contextmanager
    def __call__(self, operation: str) -> Iterator[IsOver]:
        """Give a function that says whether the failures of the operation have taken too long."""
        start, allowed = self.clock(), current_effort().failure_seconds - self.spent[operation]
        try:
            yield lambda: self.clock() - start > allowed
        finally:
            self.spent[operation] += self.clock() - start
