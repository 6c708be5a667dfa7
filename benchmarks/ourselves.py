"""This suite as one of the judges: the invariants an operation has a part in, in the order of a run, to the first failure."""

from __future__ import annotations

from meta_tests.support.in_process import attempt, trials
from spec_tests.inputs.effort import using_effort
from spec_tests.trials.trial import GENERAL

from .wrong_implementations import Subject


def first_failure(subject: Subject, effort: str, seed: int = 1) -> tuple[str, int]:
    """The id of the first invariant that fails a run, or nothing; and the examples tried till then."""
    tried = 0
    with using_effort(effort):
        for test, trial in trials(subject.backend(), about=lambda one: {*subject.operations, *GENERAL} & set(one.operations)):
            if test.invariant.level is None and (not trial.operation_name or trial.operation_name in subject.operations):
                violation = attempt(test, trial, seed)
                tried += trial.tally.examples
                if violation:
                    return f"{test.invariant.of(trial.operation_name)}[{trial.dtype}]", tried
    return "", tried
