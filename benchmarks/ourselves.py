"""This suite as one of the judges: run the invariants of an operation in the order of a run, up to the first failure."""

from __future__ import annotations

from meta_tests.support.in_process import attempt, trials
from spec_tests.inputs.effort import using_effort
from spec_tests.trials.trial import GENERAL

from .wrong_implementations import WrongImplementation


def find_first_failure(wrong: WrongImplementation, effort: str, seed: int = 1) -> tuple[str, int]:
    """Return the first invariant that fails, as `id[dtype]`, or an empty string, and the number of examples run.

    Levels are left out, because they do not fail a run.
    """
    tried, involved = 0, {*wrong.operations, *GENERAL}
    with using_effort(effort):
        for test, trial in trials(wrong.backend(), about=lambda invariant: involved & set(invariant.operations)):
            if test.invariant.level is None and (not trial.operation_name or trial.operation_name in wrong.operations):
                violation = attempt(test, trial, seed)
                tried += trial.tally.examples
                if violation:
                    return f"{test.invariant.id_for(trial.operation_name)}[{trial.dtype}]", tried
    return "", tried
