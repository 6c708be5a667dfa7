"""The suite's invariants run on a backend inside this process, without pytest and without shrinking."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    return load(name, BACKENDS, set(operations()))


def trials(
    under_test: Backend,
    precision: str | None = None,
    about: Callable[[Invariant], Any] = lambda described: True,
    dtypes: tuple[str, ...] = (),
) -> Iterator[tuple[Any, Trial]]:
    session = Session.on(under_test, dtypes, precision)
    for test in filter(lambda test: about(test.invariant), invariants()):
        for trial in session.selection.trials(test.invariant):
            if not (trial.redundant or trial.missing(test.invariant.operations)):
                yield test, trial


def trials_of(operation: str, under_test: Backend, precision: str | None = None) -> Iterator[tuple[Any, Trial]]:
    """The trials in which the operation has a part."""
    for test, trial in trials(under_test, precision, lambda described: {operation, *GENERAL} & set(described.operations)):
        if not trial.operation_name or trial.operation_name == operation:
            yield test, trial


def attempt(test: Any, trial: Trial, seed: int, *, shrink: bool = False) -> Violation | None:
    """The first violation that the examples show, if any; as it was found, or shrunk."""
    phases = [Phase.generate, Phase.reuse, Phase.shrink] if shrink else [Phase.generate]
    return find_violation(test, trial, f"{seed} {trial.id}", database=None, phases=phases)


def caught_by(under_test: Backend, seed: int = 0, only: str = "", precision: str | None = None) -> dict[str, Violation]:
    """The invariants that the backend breaks, each with what was seen."""
    broken: dict[str, Violation] = {}
    for test, trial in trials(under_test, precision):
        name = test.invariant.of(trial.operation_name)
        if test.invariant.level is None and name not in broken and only in name:
            violation = attempt(test, trial, seed)
            if violation is not None:
                broken[name] = violation
    return broken
