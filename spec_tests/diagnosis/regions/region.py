"""What a region of wrong answers is: conditions, a sentence, and a prediction of every answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...calls.call import Call
from ..evidence import wrong_in
from ..explanation import Explanation
from .asking import WRONG, Answer
from .conjunction import Conjunction
from .words import describe_conditions


@dataclass(frozen=True)
class Region(Explanation):
    """The explanation that the answers are wrong inside a region, and right outside."""

    inside: Conjunction = field(default_factory=Conjunction)
    failures: tuple[str, ...] = (WRONG,)  # what is seen inside
    only: bool = False  # whether some answers inside were right, perhaps since their values hid the error

    seen: str = ""  # what stands in place of each wrong answer inside, if it is always the same
    is_whole: bool = False  # whether it also says what is computed inside

    def covers(self, call: Call) -> bool:
        """Whether an element of the result lies inside. An answer need not be known."""
        return bool(self.inside.covers(Answer(call, self.failures[0], np.zeros(call.value.size, dtype=bool))).any())


@dataclass(frozen=True)
class Count:
    """How many fresh answers lay inside and outside of a region, and how many failed, all of them inside."""

    inside: int = 0
    outside: int = 0
    failed: int = 0

    def add(self, *, inside: bool, outside: bool, fails: bool) -> Count:
        return Count(self.inside + inside, self.outside + outside, self.failed + fails)


def build_region(
    operation: str, inside: Conjunction, failures: tuple[str, ...], fresh: Count, *, is_nearly_everywhere: bool = False
) -> Region:
    """Return the region of an operation with its sentence, which says that answers outside are right.

    is_nearly_everywhere: whether the region holds nearly all calls, so that it is hardly a condition.
    Beside the sentence stands how many fresh answers inside fail. That all do is not claimed: a few may be right by chance.
    """
    words = describe_conditions(inside.of_call, inside.of_element)
    failure = ", or ".join(failures) + ("," if len(failures) > 1 else "")
    what = f"{failure} only {words}" if inside.conditions else f"{failure} {words}"
    if is_nearly_everywhere and inside.conditions:
        what = f"{failure} nearly everywhere: {words}"
    fails = "are wrong" if failures == (WRONG,) else "fail so"
    told = f"{fresh.failed} of {fresh.inside} fresh calls inside {fails}, 0 of {fresh.outside} outside"
    if not inside.conditions:
        told = f"{fresh.failed} of {fresh.inside} fresh calls {fails}"
    only = fresh.failed < fresh.inside
    what_it_is = ("region", f"region: {words}", what, operation, _predict(inside, only))
    return Region(*what_it_is, facts=(("asked", told),), inside=inside, failures=failures, only=only)


def _predict(region: Conjunction, only: bool) -> Callable[[Call], bool | None]:
    """Return what says whether an answer is wrong just inside the region."""

    def predicts(call: Call) -> bool | None:
        if call.observed is None:
            return None
        answer = Answer(call, WRONG, np.ravel(wrong_in(call)))
        inside, wrong = region.covers(answer), answer.wrong
        assert wrong is not None
        if np.any(wrong & ~inside):
            return False
        if np.any(inside) and not np.any(wrong):
            return None if only else False
        return True

    return predicts
