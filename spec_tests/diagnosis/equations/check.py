"""Test an equation on the answers to further calls, before it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Protocol

import numpy as np

from ...calls.call import Call
from ...calls.in_domain import dimension_sizes
from ...specification.work import Budget
from ..evidence import wrong_in
from ..fit import Candidate, allows, explains
from ..further_calls import FurtherCalls
from .neighbours.mode import Mode, Setting, find_shared

MIN_FURTHER_CALLS = 32  # on which an equation without a mode is tested if the budget is spent before all are made
MIN_OUTSIDE = 4  # right answers that would contradict an equation without one setting of its mode; two or three may be chance
MAX_OUTSIDE = 16  # calls that are made to find them
OUTSIDE_OF_TWO = 2  # calls that differ in two settings
BESIDE, BESIDE_OF_ITS_SIZES = 2, 4  # calls without one setting that all wrong answers share

Add = Callable[[Call], None]


class Equation(Candidate, Protocol):
    """An equation that may hold in one mode alone: a neighbour of the reference equation, or an alternative to it."""

    @property
    def mode(self) -> Mode | None: ...

    def in_mode(self, mode: Mode | None) -> Any:
        """Return the same equation in another mode."""
        ...


class EquationCheck:
    """The further calls of one failure, and the budget until the end of which they may be made."""

    def __init__(self, further: FurtherCalls, last: Budget, *, least: int = MIN_FURTHER_CALLS):
        self.further, self.last, self.least = further, last, least
        self._shared: Mode | None = None  # the settings of the wrong answers for which `_beside` was made
        self._beside: Iterator[Call] = iter(())  # the calls that violate one of them and were not made yet

    def is_refuted(self, candidate: Equation, wrong: Sequence[Call], add: Add) -> bool:
        """Whether an answer contradicts an equation. `add` is called with that answer.

        It is tested on calls that differ from those with wrong answers in one setting that they share, then on any others.
        An equation that the budget left untested counts as refuted. In a mode it must be tested on all calls: one of many options
        may separate a few right answers from the wrong ones by chance.
        """
        if candidate.mode is None and (shared := find_shared(wrong)) != self._shared:
            self._shared, self._beside = shared, self._ask_beside(shared, wrong[0])
        for call in self._beside:
            if contradicts(call, candidate):
                add(call)
                return True
            if self.last.is_spent():
                break
        for number, call in enumerate(self.further):
            if contradicts(call, candidate):
                add(call)
                return True
            if self.last.is_spent():
                return number < self.least or candidate.mode is not None
        return False

    def _ask_beside(self, shared: Mode, wrong: Call) -> Iterator[Call]:
        """Yield calls that violate one of the settings that wrong answers share: of any sizes, and of those of one of them."""
        for setting in shared.settings:
            wish = shared.wish(wrong.operation.name, setting)
            yield from self.further.wished(wish, BESIDE)
            yield from self.further.wished(wish.but(sizes=dimension_sizes(wrong), as_drawn=False), BESIDE_OF_ITS_SIZES)

    def find_mode(self, candidate: Equation, wrong: Sequence[Call], right: Sequence[Call], add: Add) -> Mode | None:
        """Return the mode in which an equation holds that explains all wrong answers, None if there is none.

        Of the settings that all wrong answers share, those are needed without which alone right answers contradict the equation.
        Where one of these and another setting differ, the answers must also be right: two options may lead to the same line.
        wrong, right: the answers that are known. add: is called with an answer that contradicts the equation in all modes.
        """
        shared = find_shared(wrong)
        if any(contradicts(call, candidate) for call in right if shared.holds_for(call)):
            return None
        for call in self.further.wished(shared.wish(candidate.operation), MIN_OUTSIDE):
            if shared.holds_for(call) and contradicts(call, candidate):
                add(call)
                return None
        known = (*right, *self.further.made)
        needs = {setting: self._needs(candidate, shared, setting, known) for setting in shared.settings}
        if None in needs.values():
            return None
        mode = Mode(tuple(setting for setting, is_needed in needs.items() if is_needed))
        for call in self._ask_outside(mode, shared, candidate.operation):
            if contradicts(call, candidate.in_mode(mode)):
                add(call)
                return None
            if self.last.is_spent():
                return None
        return mode

    def _ask_outside(self, mode: Mode, shared: Mode, operation: str) -> Iterator[Call]:
        """Yield calls that violate one setting of the mode and another that wrong answers share."""
        for one in mode.settings:
            for other in shared.settings:
                if other not in mode.settings:
                    yield from self.further.wished(shared.wish(operation, one, other), OUTSIDE_OF_TWO)

    def _needs(self, candidate: Equation, shared: Mode, setting: Setting, known: Sequence[Call]) -> bool | None:
        """Whether right answers contradict an equation in calls that differ from those with wrong answers in one setting alone.

        None if only some do, if a wrong answer does, or if the budget is spent. A right answer does not count if
        the equation gives it, too.
        """
        against = agreeing = 0
        for call in chain(known, self.further.wished(shared.wish(candidate.operation, setting), MAX_OUTSIDE)):
            if not shared.violates_only(call, setting):
                continue
            if self.last.is_spent():
                return None
            is_wrong = bool(np.any(wrong_in(call)))
            if not contradicts(call, candidate):
                agreeing += is_wrong
                if agreeing == MIN_OUTSIDE and not against:
                    return False
            elif is_wrong:
                return None
            else:
                against += 1
                if against == MIN_OUTSIDE:
                    return True
        return None if against else False


def contradicts(call: Call, candidate: Equation) -> bool:
    """Whether an answer contradicts an equation. Outside of its mode the right equation holds."""
    if candidate.mode is not None:
        if not candidate.mode.holds_for(call):
            return bool(np.any(wrong_in(call)))
        candidate = candidate.in_mode(None)  # what becomes of it is kept, whatever mode is tried
    return not allows(candidate, call) and not explains(candidate, call)  # the cheaper question first
