"""One invariant tried once: by the examples that Hypothesis draws, or by one that is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis.errors import Flaky

from ..calls.violation import Violation, unrepeated
from ..inputs.choices import NoExample, Row
from .examples import planned
from .trial import Trial


def replay(test: Any, trial: Any, numbers: Sequence[int]) -> Violation | None:
    """What this one example shows; NoExample where the row is none."""
    row = Row(numbers)
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
        planned(test, trial, seed=seed, **settings)(trial)
    except Violation as violation:
        return violation
    except Flaky:
        if trial.progress.seen is None:
            raise
        trial.progress.repeats = False
        return unrepeated(trial.progress.seen)
    return None
