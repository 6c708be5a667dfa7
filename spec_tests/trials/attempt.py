"""Try an invariant once, on random examples or on one that is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..calls.history import list_lost
from ..calls.violation import Violation
from ..inputs.choices import NoExample, ReplayedChoices
from .examples import Examples
from .lost_calls import note_lost_calls
from .trial import Trial


def replay(test: Any, trial: Any, numbers: Sequence[int]) -> Violation | None:
    """Run the example that the numbers make, and return its violation. Raise NoExample if they make no example."""
    choices = ReplayedChoices(numbers)
    try:
        test.replay(trial, choices)
    except Violation as violation:
        lost_before = list_lost(trial.backend)
        note_lost_calls(trial.meet(trial.tally.failure), trial.backend, lost_before)
        return violation
    if choices.position < len(numbers):
        raise NoExample(f"{len(numbers) - choices.position} of its {len(numbers)} choices are left over")
    return None


def find_violation(test: Any, trial: Trial, seed: Any = None, **settings: Any) -> Violation | None:
    """Run the examples of a trial. Return the violation that it fails with, after shrinking, or None if there is none."""
    try:
        Examples(test, trial, seed=seed, **settings).run()
    except Violation as violation:
        return violation
    return None
