"""One invariant tried once: by the examples that Hypothesis draws, or by one that is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis.errors import Flaky

from ..calls.violation import Violation, not_repeated
from ..inputs.choices import NoExample, ReplayedChoices
from .examples import plan
from .trial import Trial


def replay(test: Any, trial: Any, numbers: Sequence[int]) -> Violation | None:
    """What this one example shows; NoExample where the row is none."""
    row = ReplayedChoices(numbers)
    try:
        test.replay(trial, row)
    except Violation as violation:
        return violation
    if row.place < len(numbers):
        raise NoExample(f"{len(numbers) - row.place} of its {len(numbers)} choices are left over")
    return None


def find_violation(test: Any, trial: Trial, seed: Any = None, **settings: Any) -> Violation | None:
    """The first violation that the examples show, shrunk, if there is any."""
    try:
        plan(test, trial, seed=seed, **settings)(trial)
    except Violation as violation:
        return violation
    except Flaky:
        if trial.tally.last_violation is None:
            raise
        trial.tally.repeats = False
        return not_repeated(trial.tally.last_violation)
    return None
