"""The suite's invariants run on a backend inside this process, without pytest and without shrinking."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import FlakyFailure

from spec_tests import effort
from spec_tests.invariant import Invariant
from spec_tests.loading import Backend, load
from spec_tests.session import Session
from spec_tests.specification import operations
from spec_tests.trial import Trial
from spec_tests.violation import Violation, unrepeated

HERE = Path(__file__).parent


@cache
def invariants() -> tuple[Any, ...]:
    """Every invariant's test function."""
    found = []
    for path in sorted((HERE.parent / "spec_tests").glob("test_*.py")):
        module = importlib.import_module(f"spec_tests.{path.stem}")
        found += [f for f in vars(module).values() if getattr(f, "invariant", None) and f.__module__ == module.__name__]
    return tuple(found)


def backend(name: str) -> Backend:
    return load(name, HERE, set(operations()))


def trials(
    under_test: Backend, precision: str | None = None, about: Callable[[Invariant], Any] = lambda described: True
) -> Iterator[tuple[Any, Trial]]:
    session = Session((under_test.name,), HERE, (), precision, (), frozenset())
    session.__dict__["backends"] = (under_test,)
    for test in filter(lambda test: about(test.invariant), invariants()):
        for trial in session.trials(test.invariant, test.needs):
            if not trial.missing(test.invariant.operations):
                yield test, trial


def concerning(operation: str, under_test: Backend, precision: str | None = None) -> Iterator[tuple[Any, Trial]]:
    """The trials in which the operation has a part."""
    for test, trial in trials(under_test, precision, lambda described: {operation, "operation"} & set(described.operations)):
        if not trial.subject or trial.subject == operation:
            yield test, trial


def attempt(test: Any, trial: Trial, seed: int, *, shrink: bool = False) -> Violation | None:
    """The first violation that the examples show, if any."""
    run = given(data=st.data())(test.hypothesis.inner_test)
    run = settings(
        max_examples=effort.current().examples(test.cost),
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )(hypothesis.seed(f"{seed} {trial.id}")(run))
    try:
        run(trial=trial)
    except Violation as violation:
        return violation
    except FlakyFailure as flaky:
        if (violation := unrepeated(flaky)) is None:
            raise
        return violation
    return None


def caught(under_test: Backend, seed: int = 0, only: str = "", precision: str | None = None) -> dict[str, Violation]:
    """The invariants that the backend breaks, each with what was seen."""
    broken: dict[str, Violation] = {}
    for test, trial in trials(under_test, precision):
        name = test.invariant.of(trial.subject)
        if test.invariant.level is None and name not in broken and only in name:
            violation = attempt(test, trial, seed)
            if violation is not None:
                broken[name] = violation
    return broken
