"""Test that the usual wrong implementations are caught, at default effort, by the invariant that they name.

The diagnosis must name the deviation that they state.
"""

from pathlib import Path

import pytest

from spec_tests.diagnosis.evidence import Evidence
from spec_tests.diagnosis.known_deviations import diagnose

from ..support.in_process import WRONG, attempt, backend, caught_by, trials_of


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_is_caught(path: Path, seed: int) -> None:
    wrong = backend(str(path))
    assert wrong.source.caught_by in caught_by(wrong, seed, only=wrong.source.caught_by)


@pytest.mark.parametrize("path", [path for path in WRONG if "\nnamed = " in path.read_text()], ids=lambda path: path.stem)
def test_is_named(path: Path) -> None:
    """The diagnosis names it in some dtype, and names nothing else in any dtype."""
    wrong, called = backend(str(path)), set()
    for test, trial in trials_of(path.stem.partition("__")[0], wrong):
        if test.invariant.id_for(trial.operation_name) == wrong.source.caught_by and attempt(test, trial, 1):
            called.add(tuple(one.id for one in diagnose(Evidence.gather(trial.tally.calls, trial.other_calls))))
    assert called - {()} == {(wrong.source.named,)}
