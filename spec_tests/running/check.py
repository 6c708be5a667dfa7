"""The invariants inside another project's tests: `check` tries them, and `parametrize` makes a pytest item of each."""

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
from ..implementation.lookup import BackendError, contain
from ..inputs.choices import parse_choices
from ..inputs.effort import EFFORTS, using_effort
from ..report.verdict import StatedCause, TrialIdentity, Verdict
from ..report.verdicts import describe_shortfall
from ..specification.first_use import import_modules
from ..specification.formats import DTYPES, PRECISIONS
from ..specification.levels import LEVELS
from ..specification.registry import gradients
from ..specification.registry import operations as every_operation
from ..trials.attempt import find_violation, replay
from ..trials.collection import invariants
from ..trials.slips import find_number_for_none
from ..trials.tally import Tally
from ..trials.trial import Trial
from .arguments import parse_shapes
from .known_failures import parse_key
from .makereport import FAILURE_MESSAGES
from .names import validate_choices
from .safety_net import SafetyNet
from .session import Session
from .verdict_record import build_verdict, identify_trial

Names = str | Sequence[str]
COVERAGES = ("stated", "any")


class DoesNotConform(AssertionError):
    """A violation was found, or too little was answered. The message says what is wrong.

    `verdicts` are the verdicts so far. If there is a violation, the last is that of the violation, and `causes` are its causes,
    as the verdict has them.
    """

    def __init__(self, message: str, verdicts: list[Verdict]):
        super().__init__(message)
        self.verdicts = verdicts

    @property
    def causes(self) -> list[StatedCause]:
        """The causes of the violation, [] if too little was answered."""
        return list(self.verdicts[-1].causes) if self.verdicts else []


class KnownDeviation(DoesNotConform):
    """A violation that a deviation explains of which `known_failing` says that it is known."""


@dataclass(frozen=True, repr=False)
class Check:
    """One invariant on one backend in one dtype. Calling it tests it."""

    test: Any
    trial: Trial
    session: Session
    effort: str
    shapes: int | None
    coverage: str
    known_deviations: tuple[str, ...] = ()  # ids of deviations that may explain a failure
    is_known: bool = False  # whether it may fail, so that nobody reads its message
    example: tuple[int, ...] = ()  # the choices of the only example to try; empty means that examples are drawn

    def __repr__(self) -> str:
        return self.id

    @property
    def name(self) -> str:
        """The id of the invariant."""
        return str(self.test.invariant.id_for(self.trial.operation_name))

    @property
    def id(self) -> str:
        """The id of the invariant, with the dtype in brackets."""
        return f"{self.name}[{self.trial.dtype}]"

    @property
    def identity(self) -> TrialIdentity:
        return identify_trial(self.test.invariant, self.trial)

    @property
    def operation(self) -> str:
        return self.trial.operation_name or str(self.test.invariant.module)

    def is_selected_by(self, names: Sequence[str]) -> bool:
        """Whether its invariant or its operation is named. An operation does not select a level that is not required."""
        level = self.test.invariant.level
        return self.name in names or (self.operation in names and (level is None or level in self.session.levels))

    def find_verdict(self) -> Verdict:
        """Try the invariant and return the verdict. Raise DoesNotConform if it does not hold."""
        __tracebackhide__ = True
        invariant, trial, start = self.test.invariant, replace(self.trial, tally=Tally()), time.perf_counter()
        with using_effort(self.effort, self.shapes):
            subject = invariant.subject(trial.operation_name)
            missing = trial.missing(invariant.operations) or find_number_for_none(trial, subject)
            violation = None if missing else self._find_violation(trial)
            reason = missing or ("" if violation else trial.tally.not_tried_reason)
            status = "failed" if violation else "skipped" if reason else "passed"
            verdict = build_verdict(invariant, trial, status, reason, time.perf_counter() - start)
            if violation:
                raise self._describe_failure(trial, verdict) from None
        return verdict

    def _describe_failure(self, trial: Trial, verdict: Verdict) -> DoesNotConform:
        """Return the exception of a violation. A cause that an earlier one has told in full is told in short."""
        findings = trial.tally.findings
        ids = [{explanation.id for explanation in finding.cause.explanations} for finding in findings]
        is_known = all(found & {*self.known_deviations} for found in ids)
        message = import_modules(FAILURE_MESSAGES)[0].failure_message(self.test.invariant, trial)
        failure = (KnownDeviation if is_known else DoesNotConform)(message, [verdict])
        if not self.is_known:
            trial.tally.findings_in_order[0].cause.told = True
        return failure

    def _find_violation(self, trial: Trial) -> Violation | None:
        return replay(self.test, trial, self.example) if self.example else find_violation(self.test, trial)

    def require_coverage(self, verdict: Verdict) -> None:
        """Raise DoesNotConform if the function answered too few examples of the law `reference`, unless less is asked for."""
        __tracebackhide__ = True
        if self.coverage == "stated" and not self.example and (shortfall := describe_shortfall(verdict)):
            raise DoesNotConform(f'{shortfall}\n(coverage="any" accepts this)', [verdict])

    def __call__(self) -> Verdict:
        """Test the invariant and return the verdict. Skip the test if nothing could be tried."""
        __tracebackhide__ = True
        verdict = self.find_verdict()
        self.require_coverage(verdict)
        if verdict.status == "skipped":
            pytest.skip(verdict.reason)
        return verdict


def check(
    backend: Any,
    operations: Names = (),
    *,
    dtype: Names = (),
    precision: str | None = None,
    effort: str = "default",
    shapes: int | None = None,
    levels: Names = (),
    coverage: str = "stated",
    example: str = "",
) -> list[Verdict]:
    """Try the invariants on a backend and return the verdicts.

    `backend` is any object, a mapping of its attributes, or a text that --backend takes. `operations` names operations or
    single invariants; without it, every operation that the backend has is tried. `levels` names the levels that are required;
    other levels are not tried. `shapes` is for a backend that compiles anew for each shape: the number of shapes from which the
    examples of an operation are drawn. `example` is the example that a failure printed; no other is tried.

    `coverage` is "stated" or "any". With "stated", the comparison with the oracle must answer at least half of what is drawn, and
    may refuse only optional variants and what lies outside the domain that the backend states. "any" accepts every refusal.

    Raise DoesNotConform at the first violation, or if nothing could be tried of an operation, or if an operation answers less
    than `coverage` asks for.
    """
    __tracebackhide__ = True
    verdicts: list[Verdict] = []
    checks = _build_checks(backend, operations, dtype, precision, effort, shapes, levels, coverage)
    if example and len(checks) != 1:
        raise ValueError(f"an example is of one invariant in one dtype, and these are {len(checks)}")
    checks = [replace(item, example=parse_choices(example) if example else ()) for item in checks]
    for item in checks:
        try:
            verdicts.append(item.find_verdict())
        except DoesNotConform as failure:
            raise DoesNotConform(str(failure), [*verdicts, *failure.verdicts]) from None
    for operation in dict.fromkeys(verdict.operation for verdict in verdicts):
        own = [verdict for verdict in verdicts if verdict.operation == operation]
        if all(verdict.status == "skipped" for verdict in own):
            raise DoesNotConform(f"nothing could be tried of {operation}: {own[0].reason}", verdicts)
    for item, verdict in zip(checks, verdicts, strict=True):
        try:
            item.require_coverage(verdict)
        except DoesNotConform as shortfall:
            raise DoesNotConform(str(shortfall), verdicts) from None
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
    coverage: str = "stated",
    known_failing: Mapping[str, str] | None = None,
) -> pytest.MarkDecorator:
    """Make one test for each invariant and dtype out of a test function with the argument `check`; `check()` tries it.

    `known_failing` maps the ids of invariants that must fail, with or without a dtype, to the reasons. Its keys may also be
    operations, ids with `*`, or ids of deviations that explain the failure; of what these match, some may hold. For the other
    arguments see `check`.
    """
    checks = _build_checks(backend, operations, dtype, precision, effort, shapes, levels, coverage)
    reasons = dict(known_failing or {})
    entries = {key: parse_key(key, reason) for key, reason in reasons.items()}
    for key, entry in entries.items():
        if not any(entry.covers(item.identity) for item in checks):
            raise ValueError(f"known_failing names {key}, which is not among the {len(checks)} invariants here")

    def build_parameter(item: Check) -> Any:
        own = [entry for entry in entries.values() if entry.covers(item.identity)]
        own.sort(key=lambda entry: (entry.is_pattern, not entry.dtype, bool(entry.deviation)))
        if not own:
            return pytest.param(item, id=item.id)
        strict, raises = not own[0].is_pattern, KnownDeviation if own[0].deviation else DoesNotConform
        deviations = tuple(entry.deviation for entry in own if entry.deviation)
        item = replace(item, known_deviations=deviations, is_known=True)
        mark = pytest.mark.xfail(strict=strict, raises=raises, reason=own[0].reason)
        return pytest.param(item, id=item.id, marks=[mark])

    return pytest.mark.parametrize("check", list(map(build_parameter, checks)))


def _build_checks(
    backend: Any,
    operations: Names,
    dtype: Names,
    precision: str | None,
    effort: str,
    shapes: int | None,
    levels: Names,
    coverage: str,
) -> list[Check]:
    """Return the checks that the names select. Raise an error of one sentence for an unknown name, or a missing operation."""
    names, every_name = _as_list(operations), (*every_operation(), *gradients())
    with _usage_errors_as_value_errors():
        operation_names = validate_choices("operation", [name.partition(".")[0] for name in names], every_name)
        validate_choices("effort", [effort], EFFORTS)
        validate_choices("coverage", [coverage], COVERAGES)
        shapes = parse_shapes(shapes)
        session = Session.for_backend(
            _load_backend(backend),
            validate_choices("dtype", _as_list(dtype), DTYPES),
            validate_choices("precision", [precision], PRECISIONS)[0] if precision else None,
            frozenset(validate_choices("level", _as_list(levels), LEVELS)),
        )
    (under_test,) = session.backends
    under_test.__dict__["safety_net"] = SafetyNet()
    for operation in operation_names:
        if not under_test.has(operation):
            raise BackendError(under_test.describe_absence(operation))
    checks: list[Check] = []
    with using_effort(effort, shapes):
        for test in invariants():
            trials = [trial for trial in session.selection.trials(test.invariant) if not trial.redundant]
            checks += [Check(test, trial, session, effort, shapes, coverage) for trial in trials]
    checks = [item for item in checks if under_test.has(item.operation) and item.is_selected_by(names or every_name)]
    for name in names:
        if not any(item.is_selected_by([name]) for item in checks):
            raise ValueError(f"no invariant {name} can be tried on {under_test.name}")
    return checks


def _as_list(names: Names) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _load_backend(backend: Any) -> Backend:
    """Return the backend that `check` is given: by its text, as a mapping of attributes, as a class, or as any other object."""
    if isinstance(backend, str):
        return load(backend, Path.cwd(), set(every_operation()))
    if isinstance(backend, Mapping):
        backend = SimpleNamespace(**{"name": "the backend", **backend})
    return contain(lambda: build_backend(backend() if inspect.isclass(backend) else backend, set(every_operation())), "")


@contextmanager
def _usage_errors_as_value_errors() -> Iterator[None]:
    """Raise a ValueError in place of the UsageError of an option, without the dashes of the option."""
    try:
        yield
    except pytest.UsageError as error:
        raise ValueError(str(error).removeprefix("--")) from None
