"""The call of one pytest item: try one invariant on one backend in one dtype, on drawn examples or on a given one."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from ..calls.history import count_lost_devices
from ..calls.violation import STATE, Violation
from ..implementation.framework import Framework
from ..implementation.printable import printable_line
from ..inputs.choices import NoExample
from ..report.verdicts import describe_shortfall
from ..specification.tiers import TIERS, list_required
from ..trials.attempt import find_violation, replay
from ..trials.first_failure import cause_search
from ..trials.invariant import Invariant
from ..trials.slips import find_exchanged_results, find_number_for_none
from ..trials.trial import Trial
from .known_failures import FAILING, Entry
from .raised_between_calls import describe_raised
from .selection import REPORT_ABSENCE, find_missing_requirement
from .verdict_record import build_verdict, identify_trial

if TYPE_CHECKING:
    from ..trials.failure import Failure
    from .session import Session

MAX_LOST_DEVICES = 3  # by calls of one operation, after which its other laws are left out


def judge(session: Session, node: str, invariant: Invariant, test: Any, trial: Trial) -> None:
    """Run a trial, as `run_trial` does, and record in the suite's own ledger how it ends."""
    try:
        run_trial(session, invariant, test, trial)
    except KeyboardInterrupt:
        raise
    except (pytest.skip.Exception, pytest.xfail.Exception) as error:
        session.ledger.record(node, "skipped" if isinstance(error, pytest.skip.Exception) else "tolerated")
        raise
    except BaseException as error:
        if not (raised := describe_raised(error)):
            session.ledger.record(node, "failed", error)
            raise
        trial.tally.findings.clear()  # the search for their causes was cut
        _meet(invariant, trial, violation := Violation(raised))
        session.ledger.record(node, "failed", violation)
        raise violation from None
    session.ledger.record(node, "passed")


def run_trial(session: Session, invariant: Invariant, test: Any, trial: Trial) -> None:
    """Return if the invariant holds; else skip, xfail, or raise the Violation. pytest reports the item accordingly."""
    if names := session.undo_fixtures():
        what = f"a fixture or a plugin replaced {', '.join(names[:3])}, on which the verdict depends"
        _meet(invariant, trial, offence := Violation(what))
        raise offence
    subject = invariant.subject(trial.operation_name)
    slip = find_exchanged_results(trial, subject)
    missing = trial.missing(invariant.operations) or find_number_for_none(trial, subject) or slip * subject.endswith("_vjp")
    if trial.backend.framework.device_lost or missing:
        _look(session, invariant, trial, failed=False)  # this may be the last law
        _skip_untried(session, invariant, trial, missing)
    _skip_after_lost_devices(trial, subject)
    unrequired = _find_unrequired(session, invariant, trial)
    kind, place, entry = session.known_failures.find_entry(identify_trial(invariant, trial))
    violation = Violation(slip) if slip else _find_violation(session, test, trial, entry, shrink=not unrequired)
    _look(session, invariant, trial, failed=violation is not None)
    if violation is None and trial.tally.cut:
        pytest.skip(f"not tried to its end: cut by {trial.tally.cut}")
    violation = violation or _find_required_shortfall(session, invariant, trial)
    if violation is None:
        if untried := trial.tally.not_tried_reason:
            pytest.skip(untried)
        if entry and kind == FAILING and not entry.is_pattern and not session.known_failures.update:
            trial.tally.stale = place
        return
    violation = violation.with_traceback(None)  # pytest would format the traceback, which takes time; the message says more
    if unrequired:
        trial.tally.level_lost = _tell_state(violation)
        reason = f"{unrequired} does not hold: {violation.what}"
        raise pytest.xfail.Exception(reason, pytrace=False) from None  # no one reads the traceback, and it takes time
    if not trial.tally.findings:
        _meet(invariant, trial, violation)
    if session.known_failures.has_deviations and not entry:
        kind, place, entry = _tolerate_explained(session, invariant, trial)
    if entry:
        trial.tally.tolerated, trial.tally.known = violation, kind
        raise pytest.xfail.Exception(f"known to be {kind}: {entry.reason}") from None
    raise violation from None


def _find_unrequired(session: Session, invariant: Invariant, trial: Trial) -> str:
    """Return the level or the tier of a law that nobody asks for in this run, "" of a law that must hold."""
    if invariant.level is not None and not _is_level_required(session, invariant, trial):
        return f"level {invariant.level}"
    promised = trial.backend.state("promised_tiers", TIERS)  # all of them, unless its format says that they are fewer
    is_required = invariant.tier in list_required(promised, session.tiers)
    return "" if is_required else f"tier {invariant.tier}"


def _tell_state(violation: Violation) -> str:
    """Return what was seen, with the state of the framework in which it was."""
    state = next((fact for label, fact in violation.facts if label == STATE), "")
    return f"{violation.what}, with {state}" if state else violation.what


def _is_level_required(session: Session, invariant: Invariant, trial: Trial) -> bool:
    """Whether the run demands the level of this law. A gradient that --require names must be one of every argument."""
    is_of_required_gradient = invariant.level == "all-gradients" and trial.operation_name in session.required
    return is_of_required_gradient or invariant.level in session.levels


def _meet(invariant: Invariant, trial: Trial, violation: Violation) -> None:
    """Make a cause of a violation that is none of an example."""
    law, operation = invariant.id_for(trial.operation_name), invariant.subject(trial.operation_name)
    trial.meet(cause_search().Failure(law, operation, trial.dtype, violation))


def _tolerate_explained(session: Session, invariant: Invariant, trial: Trial) -> tuple[str, str, Entry | None]:
    """Return how a file lists the explanations of what failed, as `find_entry` does. One that is in no file goes first."""
    found = []
    for finding in trial.tally.findings:
        ids = [explanation.id for explanation in finding.cause.explanations]
        found.append(session.known_failures.find_entry(identify_trial(invariant, trial), ids))
        finding.is_tolerated = found[-1][2] is not None
    untolerated = [entry for entry in found if entry[2] is None]
    return (untolerated or found)[0]


def _look(session: Session, invariant: Invariant, trial: Trial, *, failed: bool) -> None:
    """Look for replaced functions, if it is time to, and raise a Violation if there are any.

    It fails the run even where the law is of a level, or is known to fail: verdicts of earlier laws may depend on the function.
    """
    if replaced := session.find_replacements(trial, invariant.subject(trial.operation_name), failed=failed):
        trial.tally.findings.clear()  # whatever it answered
        _meet(invariant, trial, offence := Violation(replaced))
        raise offence


def _skip_untried(session: Session, invariant: Invariant, trial: Trial, reason: str) -> None:
    """Skip the item. Raise a Violation if an operation that --require names is missing itself, not one beside it in the law."""
    if trial.backend.framework.device_lost:
        trial.tally.cut = "a lost device"
        pytest.skip(f"{trial.backend.name}'s device answers nothing more since an earlier call; --isolate replaces its process")
    if missing := find_missing_requirement(trial, invariant, session.required):
        _meet(invariant, trial, violation := Violation(f"required, but {missing}"))
        raise violation
    pytest.skip(reason)


def _skip_after_lost_devices(trial: Trial, operation: str) -> None:
    """Skip the item if calls of its operation have cost the device too often: each costs the start of a new process."""
    if count_lost_devices(trial.backend, operation) >= MAX_LOST_DEVICES:
        trial.tally.cut = f"{MAX_LOST_DEVICES} calls of {operation} that lost the device"
        pytest.skip(f"left out: {MAX_LOST_DEVICES} calls of {operation} have lost the device, and each takes a new process")


def _find_required_shortfall(session: Session, invariant: Invariant, trial: Trial) -> Violation | None:
    """Return a Violation if --require names the operation, and the comparison with the oracle answered nothing or too little."""
    if (trial.operation_name or invariant.module) not in session.required:
        return None
    untried = trial.tally.not_tried_reason if invariant.id in REPORT_ABSENCE else ""
    shortfall = untried or describe_shortfall(build_verdict(invariant, trial, "passed", "", 0.0))
    return Violation(f"required, but {shortfall}") if shortfall else None


def _find_violation(session: Session, test: Any, trial: Trial, entry: Entry | None, *, shrink: bool) -> Violation | None:
    if session.example:
        return _replay_choices(test, trial, session.example, "--example")
    if entry and entry.choices:
        violation = _replay_choices(test, trial, entry.choices, "its known example")
        if violation:  # no example is drawn: chance must not decide
            return violation
    if not entry:
        trial.announce = partial(_announce, session, trial)
    return find_violation(test, trial, shrink=shrink)


def _announce(session: Session, trial: Trial, failure: Failure) -> None:
    """Print what has failed on a device of this process, before further calls may lose the device, or end the process."""
    framework, manager = trial.backend.framework, session.plugin_manager
    is_at_risk = isinstance(framework, Framework) and framework.place.partition(":")[0] != "cpu"
    terminal: Any = manager.get_plugin("terminalreporter") if manager and is_at_risk else None
    capture: Any = manager.get_plugin("capturemanager") if manager else None
    if terminal is None:
        return
    with capture.global_and_fixture_disabled() if capture else nullcontext():
        terminal.ensure_newline()
        what = printable_line(failure.violation.what)
        terminal.write_line(f"{failure.law} in {failure.dtype} fails: {what}; now its cause is searched for")


def _replay_choices(test: Any, trial: Trial, choices: tuple[int, ...], source: str) -> Violation | None:
    try:
        return replay(test, trial, choices)
    except NoExample as reason:
        violation = Violation(f"{source} makes no example of this invariant, in this version of the suite: {reason}")
        _meet(test.invariant, trial, violation)
        raise violation from None
