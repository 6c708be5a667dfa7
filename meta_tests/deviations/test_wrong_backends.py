"""Test that the usual wrong implementations are caught, at default effort, by the invariant that they name.

The diagnosis must name the deviation that they state.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose
from spec_tests.trials.trial import Trial

from ..support.in_process import WRONG, attempt, backend, trials_of


def failing_trials(path: Path, seed: int) -> Iterator[Trial]:
    """Yield the trials in which the law that the implementation names catches it."""
    wrong = backend(str(path))
    for test, trial in trials_of(path.stem.partition("__")[0], wrong):
        if test.invariant.id_for(trial.operation_name) == wrong.source.caught_by and attempt(test, trial, seed):
            yield trial


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_is_caught(path: Path, seed: int) -> None:
    assert next(failing_trials(path, seed), None)


@pytest.mark.rotating
@pytest.mark.parametrize("path", [path for path in WRONG if "\nnamed = " in path.read_text()], ids=lambda path: path.stem)
def test_is_named(path: Path) -> None:
    """The diagnosis names it in some dtype, and names nothing else in any dtype."""
    called = {tuple(one.id for one in diagnose(Evidence.gather(t.tally.calls, t.other_calls))) for t in failing_trials(path, 1)}
    assert called - {()} == {(backend(str(path)).source.named,)}
