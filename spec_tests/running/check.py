"""The invariants inside another project's tests: `check` tries them, `parametrize` makes a pytest item of each."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ..calls.violation import Violation
from ..implementation.backend import Backend, build_backend, load
from ..implementation.lookup import BackendError
from ..inputs.choices import parse_choices
from ..inputs.effort import EFFORTS, using_effort
from ..report.failure import failure_message
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.registry import gradients
from ..specification.registry import operations as every_operation
from ..trials.attempt import find_violation, replay
from ..trials.collection import invariants
from ..trials.tally import Tally
from ..trials.trial import Trial
from .arguments import LEVELS, parse_shapes, validate_choices
from .session import Session

Names = str | Sequence[str]


class DoesNotConform(AssertionError):
    """The message of the first violation. `verdicts` are those up to it, its own the last."""

    def __init__(self, message: str, verdicts: list[dict[str, Any]]):
        super().__init__(message)
        self.verdicts = verdicts


@dataclass(frozen=True, repr=False)
class Check:
    """One invariant on one backend in one dtype. To call it is to test it."""

    test: Any
    trial: Trial
    session: Session
    effort: str
    shapes: int | None
    example: tuple[int, ...] = ()  # this one alone

    def __repr__(self) -> str:
        return self.id

    @property
    def name(self) -> str:
        return str(self.test.invariant.of(self.trial.operation_name))

    @property
    def id(self) -> str:
        return f"{self.name}[{self.trial.dtype}]"

    @property
    def operation(self) -> str:
        return self.trial.operation_name or str(self.test.invariant.module)

    def is_of(self, names: Sequence[str]) -> bool:
        """It is named, or its operation is, unless it belongs to a level that no one asks for."""
        level = self.test.invariant.level
        return self.name in names or (self.operation in names and (level is None or level in self.session.levels))

    def verdict(self) -> dict[str, Any]:
        """Plain data; raises DoesNotConform."""
        __tracebackhide__ = True
        invariant, trial, start = self.test.invariant, replace(self.trial, tally=Tally()), time.perf_counter()
        with using_effort(self.effort, self.shapes):
            missing = trial.missing(invariant.operations)
            violation = None if missing else self._violation(trial)
            reason = missing or ("" if violation else trial.tally.not_tried_reason)
            status = "failed" if violation else "skipped" if reason else "passed"
            facts = self.session.verdict_record(invariant, trial, status, reason, time.perf_counter() - start)
            if violation:
                raise DoesNotConform(failure_message(invariant, trial, violation), [facts]) from None
        return facts

    def _violation(self, trial: Trial) -> Violation | None:
        return replay(self.test, trial, self.example) if self.example else find_violation(self.test, trial)

    def __call__(self) -> dict[str, Any]:
        __tracebackhide__ = True
        facts = self.verdict()
        if facts["status"] == "skipped":
            pytest.skip(facts["reason"])
        return facts


def check(
    backend: Any,
    operations: Names = (),
    *,
    dtype: Names = (),
    precision: str | None = None,
    effort: str = "default",
    shapes: int | None = None,
    levels: Names = (),
    example: str = "",
) -> list[dict[str, Any]]:
    """The verdicts on a backend: any object, a mapping of its attributes, or what --backend= takes.

    `operations` names some of them, or single invariants; all that the backend has if none. `levels` names the properties
    beyond the equations that are required; no other is tried. `shapes` is for a backend that compiles for each anew: the
    examples of an operation are drawn from so many. `example` is the one that a failure has printed. Raises DoesNotConform at
    the first violation, and where nothing could be tried of an operation.
    """
    __tracebackhide__ = True
    verdicts: list[dict[str, Any]] = []
    found = _build_checks(backend, operations, dtype, precision, effort, shapes, levels)
    if example and len(found) != 1:
        raise ValueError(f"an example is of one invariant in one dtype, and these are {len(found)}")
    for each in found:
        each = replace(each, example=parse_choices(example) if example else ())
        try:
            verdicts.append(each.verdict())
        except DoesNotConform as failure:
            raise DoesNotConform(str(failure), [*verdicts, *failure.verdicts]) from None
    for operation in dict.fromkeys(verdict["operation"] for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict["operation"] == operation]
        if all(verdict["status"] == "skipped" for verdict in own):
            raise DoesNotConform(f"nothing could be tried of {operation}: {own[0]['reason']}", verdicts)
    return verdicts


def parametrize(
    backend: Any,
    operations: Names = (),
    *,
    dtype: Names = (),
    precision: str | None = None,
    effort: str = "default",
    shapes: int | None = None,
    levels: Names = (),
    known_failing: Mapping[str, str] | None = None,
) -> pytest.MarkDecorator:
    """A test of one argument, `check`, becomes one test for each invariant and dtype, in which `check()` tries it.

    `known_failing` gives the reason why some, named by their ids with or without the dtype, must fail.
    """
    found, reasons = _build_checks(backend, operations, dtype, precision, effort, shapes, levels), dict(known_failing or {})
    for name in reasons.keys() - {name for each in found for name in (each.name, each.id)}:
        raise ValueError(f"known_failing names {name}, which is not among the {len(found)} invariants here")

    def parameter(each: Check) -> Any:
        reason = reasons.get(each.id, reasons.get(each.name))
        marks = [pytest.mark.xfail(strict=True, raises=DoesNotConform, reason=reason)] if reason else []
        return pytest.param(each, id=each.id, marks=marks)

    return pytest.mark.parametrize("check", list(map(parameter, found)))


def _build_checks(
    backend: Any, operations: Names, dtype: Names, precision: str | None, effort: str, shapes: int | None, levels: Names
) -> list[Check]:
    """All that can be tried of what is named; one sentence where a name is unknown, or the backend lacks it."""
    names, every = _as_list(operations), (*every_operation(), *gradients())
    with _usage_errors_as_value_errors():
        leading = validate_choices("operation", [name.partition(".")[0] for name in names], every)
        validate_choices("effort", [effort], EFFORTS)
        shapes = parse_shapes(shapes)
        session = Session.on(
            _load_backend(backend),
            validate_choices("dtype", _as_list(dtype), DTYPES),
            validate_choices("precision", [precision], PRECISIONS)[0] if precision else None,
            frozenset(validate_choices("level", _as_list(levels), LEVELS)),
        )
    (under_test,) = session.backends
    for operation in leading:
        if not under_test.has(operation):
            raise BackendError(f"{under_test.name} does not implement {operation}")
    found: list[Check] = []
    with using_effort(effort, shapes):
        for test in invariants():
            trials = [trial for trial in session.selection.trials(test.invariant) if not trial.redundant]
            found += [Check(test, trial, session, effort, shapes) for trial in trials]
    found = [each for each in found if under_test.has(each.operation) and each.is_of(names or every)]
    for name in names:
        if not any(each.is_of([name]) for each in found):
            raise ValueError(f"no invariant {name} can be tried on {under_test.name}")
    return found


def _as_list(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _load_backend(backend: Any) -> Backend:
    if isinstance(backend, str):
        return load(backend, Path.cwd(), set(every_operation()))
    if isinstance(backend, Mapping):
        backend = SimpleNamespace(**{"name": "the backend", **backend})
    return build_backend(backend() if inspect.isclass(backend) else backend, set(every_operation()))


@contextmanager
def _usage_errors_as_value_errors() -> Iterator[None]:
    """What a person at the command line is told, for one at a keyboard further away."""
    try:
        yield
    except pytest.UsageError as error:
        raise ValueError(str(error).removeprefix("--")) from None
