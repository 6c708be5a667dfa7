"""Run the suite's invariants on a backend inside this process, without pytest and, unless asked for, without shrinking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from hypothesis import Phase

from spec_tests.calls.violation import Violation
from spec_tests.implementation.backend import Backend, load
from spec_tests.running.session import Session
from spec_tests.specification.registry import operations
from spec_tests.trials.attempt import find_violation
from spec_tests.trials.collection import invariants
from spec_tests.trials.invariant import Invariant
from spec_tests.trials.trial import GENERAL, Trial

from .paths import BACKENDS

WRONG = sorted((BACKENDS / "wrong").glob("*.py"))  # each names the invariant that must catch it


def backend(name: str) -> Backend:
    """Load a backend as `--backend=NAME` does, with the folder of the example backends as current folder."""
    return load(name, BACKENDS, set(operations()))


def trials(
    under_test: Backend,
    precision: str | None = None,
    about: Callable[[Invariant], Any] = lambda invariant: True,
    dtypes: tuple[str, ...] = (),
    names: Collection[str] | None = None,
) -> Iterator[tuple[Any, Trial]]:
    """Yield each test of an invariant for which `about` is true, with each of its trials that a run would try.

    With `names`, general invariants are tried on these operations only.
    """
    session = Session.for_backend(under_test, dtypes, precision)
    for test in filter(lambda test: about(test.invariant), invariants()):
        for trial in session.selection.trials(test.invariant, names):
            if not (trial.redundant or trial.missing(test.invariant.operations)):
                yield test, trial


def trials_of(operation: str, under_test: Backend, precision: str | None = None) -> Iterator[tuple[Any, Trial]]:
    """Return the trials of the invariants that involve the operation. Trials of others are not made."""
    about = {operation, *GENERAL}
    return trials(under_test, precision, lambda invariant: about & set(invariant.operations), names=(operation,))


def attempt(test: Any, trial: Trial, seed: int, *, shrink: bool = False) -> Violation | None:
    """Run a trial's examples and return the first violation, if any. With `shrink`, shrink its example as a run does."""
    phases = [Phase.generate, Phase.reuse, Phase.shrink] if shrink else [Phase.generate]
    return find_violation(test, trial, f"{seed} {trial.id}", database=None, phases=phases)


def caught_by(under_test: Backend, seed: int = 0, only: str = "", precision: str | None = None) -> dict[str, Violation]:
    """Return the invariants that the backend breaks, each with its first violation. Levels are left out, but for `only`."""
    broken: dict[str, Violation] = {}
    for test, trial in trials(under_test, precision):
        name = test.invariant.id_for(trial.operation_name)
        if (test.invariant.level is None or name == only) and name not in broken and only in name:
            violation = attempt(test, trial, seed)
            if violation is not None:
                broken[name] = violation
    return broken
