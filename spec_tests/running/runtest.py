"""One invariant tried once in one dtype: by examples that Hypothesis draws, or by the one that is asked for or pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ..calls.violation import Violation
from ..inputs.choices import NoExample
from ..trials.attempt import find_violation, replay
from ..trials.invariant import Invariant
from ..trials.trial import Trial
from .known_failures import FAILING, Entry

if TYPE_CHECKING:
    from .session import Session


def run_trial(session: Session, invariant: Invariant, test: Any, trial: Trial) -> None:
    """What pytest is to make of it: nothing, if the invariant holds."""
    if trial.backend.framework.device_lost:
        pytest.skip(f"{trial.backend.name}'s device answers nothing more since an earlier call; --isolate replaces its process")
    if missing := trial.missing(invariant.operations):
        session.skip_absent(invariant, trial, missing)
    reported = invariant.level is not None and invariant.level not in session.levels
    kind, line, entry = session.known_entry(invariant, trial)
    session.restore_watched()
    violation = _violation(session, test, trial, kind, entry, shrink=not reported)
    if replaced := session.restore():
        violation = Violation(f"the backend replaced {', '.join(replaced[:3])}, on which the verdict depends")
    if violation is None:
        if entry and kind == FAILING and not (session.update or trial.tally.not_tried_reason):
            raise Violation(f"it is known to fail ({line}), and holds: remove that line, or run with --update-known")
        if untried := trial.tally.not_tried_reason:
            pytest.skip(untried)
        return
    violation = violation.with_traceback(None)  # which pytest would spend its time on; the message says more
    if reported:
        trial.tally.level_lost = violation.what
        lost = f"level {invariant.level} does not hold: {violation.what}"
        raise pytest.xfail.Exception(lost, pytrace=False) from None  # nobody reads where, and finding it takes time
    if entry:
        trial.tally.tolerated, trial.tally.known = violation, kind
        raise pytest.xfail.Exception(f"known to be {kind}: {entry.reason}") from None
    raise violation from None


def _violation(session: Session, test: Any, trial: Trial, kind: str, entry: Entry | None, *, shrink: bool) -> Violation | None:
    if session.example:
        return _replay_row(test, trial, session.example, "--example")
    if entry and entry.row:
        found = _replay_row(test, trial, entry.row, "its known example")
        if found or (kind == FAILING and not session.update):  # chance has no part in it
            return found
    return find_violation(test, trial, shrink=shrink)


def _replay_row(test: Any, trial: Trial, row: tuple[int, ...], what: str) -> Violation | None:
    try:
        return replay(test, trial, row)
    except NoExample as reason:
        raise Violation(f"{what} makes no example of this invariant, in this version of the suite: {reason}") from None
