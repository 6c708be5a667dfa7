"""Work: what a run does after a failure, counted in units that are the same on every machine.

A unit is about what one element costs in one evaluation of an equation in float64. What takes time without elements, such as a
call of Python code, counts as so many. A budget is an amount of work. It may also be ended by a safety net, which watches a clock
and is handed down by whoever runs the tests: nothing below that reads one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from . import tuned

IsOver = Callable[[], bool]  # whether a safety net ends what is done
SafetyNet = Callable[[str], AbstractContextManager[IsOver]]  # is given the operation whose failures are looked at in a block


def never() -> bool:
    """Return False: what has no safety net is never ended by one."""
    return False


def no_safety_net(operation: str) -> AbstractContextManager[IsOver]:
    """Return the safety net of a search that nothing but its budget ends."""
    return nullcontext(never)


class Meter:
    """Counts the work that is done on one backend. What is counted depends on the calls alone, never on their time."""

    def __init__(self) -> None:
        self.units = 0

    def add(self, units: int) -> None:
        self.units += units

    def add_call(self, elements: int) -> None:
        """Count a call of the backend with so many elements in its arguments."""
        self.units += tuned.WORK_OF_CALL + elements

    def add_evaluation(self, steps: int, elements: int, times: int = 1) -> None:
        """Count the evaluation of an equation.

        steps: how many operations the equation has. elements: of its arguments and its result. times: how many evaluations in
        float64 it is worth, since its numbers carry an error.
        """
        self.units += times * (tuned.WORK_OF_EVALUATION + tuned.WORK_OF_STEP * steps + elements)


class Budget:
    """The work that a search may do. Its parts end together with it."""

    def __init__(self, meter: Meter, units: float, is_over: IsOver = never):
        self.meter, self.end, self._is_over = meter, meter.units + units, is_over
        self.is_cut = False  # whether a safety net has ended what the budget would have allowed
        self._whole = self

    @property
    def left(self) -> float:
        """Return the units that are left."""
        return max(0.0, self.end - self.meter.units)

    def is_spent(self) -> bool:
        """Whether nothing else may be begun."""
        if self.meter.units >= self.end:
            return True
        if self._is_over():
            self._whole.is_cut = True
            return True
        return False

    def part(self, share: float) -> Budget:
        """Return a budget of this share of what is left. What is spent of it is spent of this one too."""
        return self.limited_to(share * self.left)

    def limited_to(self, units: float) -> Budget:
        """Return a budget of so many units, or of what is left, if that is less."""
        part = Budget(self.meter, min(units, self.left), self._is_over)
        part._whole = self._whole
        return part


def unlimited(meter: Meter) -> Budget:
    """Return a budget that is never spent."""
    return Budget(meter, float("inf"))
