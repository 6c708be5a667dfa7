"""The pytest report of an item: the message of a failure, the record of the verdict, and the details for report.jsonl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ..calls.violation import Violation
from ..implementation.printable import printable
from ..report.causes import state_cause
from ..report.short_message import format_short
from ..report.verdict import ForeignMessage, Message, ToldCause
from ..specification.first_use import import_modules
from .captured_output import capture_output
from .options import read_option
from .raised_between_calls import describe_raised
from .reported import carry_causes, carry_details, carry_verdict
from .verdict_record import build_verdict

if TYPE_CHECKING:
    from ..trials.trial import Trial
    from .session import Session

FAILURE_MESSAGES = "spec_tests.report.failure"  # the module that the first failure imports
MAX_MESSAGE_CHARACTERS = 100_000  # of a whole failure, whose parts are shortened already


def make_report(report: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[Any], session: Session) -> None:
    """Put the verdict on a trial into pytest's report of its item."""
    invariant, trial = item.obj.invariant, item.callspec.params["trial"]  # type: ignore[attr-defined]
    error: BaseException | None = _restore_outcome(report, item, session) or (call.excinfo.value if call.excinfo else None)
    failures = list[Message]()
    reason = trial.tally.level_lost or (str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else "")
    if report.failed:
        if raised := describe_raised(error):  # outside of the law, by code of pytest
            report.longrepr = raised
        reason = raised or (f"{type(error).__name__}: {error}" if error else report.longreprtext).partition("\n")[0]
    violation = trial.tally.tolerated or (error if report.failed and isinstance(error, Violation) else None)
    if violation:
        with capture_output(item.config) as texts:
            (messages,) = import_modules(FAILURE_MESSAGES)
            failures = messages.describe_failures(invariant, trial)
        report.sections += [("Captured output of the diagnosis", text) for text in texts]
        reason = messages.summarize_failure(failures[0])
        session.undo_replacements()
        if report.failed:
            _tell(report, item, trial, failures, printable(reason))
    elif report.failed:  # of pytest's own making, with text of the backend's in it
        report.longrepr = printable(report.longreprtext, MAX_MESSAGE_CHARACTERS)
    elif isinstance(report.longrepr, tuple):
        path, line, text = report.longrepr
        report.longrepr = path, line, printable(text)
    reason = printable(reason)
    status = "not held" if trial.tally.level_lost else "failed" if violation else report.outcome
    verdict = build_verdict(invariant, trial, status, reason, report.duration)
    report.sections = [(title, printable(text)) for title, text in report.sections]  # a backend may have printed megabytes
    carry_verdict(verdict, report, item)
    if read_option(item.config, "report") or item.config.pluginmanager.has_plugin("spec_tests.report"):  # in a worker, or here
        from .recorded_details import collect_details

        shown: list[Message | ForeignMessage] = [*failures] or (
            [ForeignMessage(message=report.longreprtext)] if report.failed else []
        )
        carry_details(collect_details(session, invariant, trial, shown), report)


def _tell(report: pytest.TestReport, item: pytest.Item, trial: Trial, failures: list[Message], reason: str) -> None:
    """Make the message of a failed item: a long one of each cause that is not told yet, else a short one."""
    untold: list[ToldCause] = []
    (messages,) = import_modules(FAILURE_MESSAGES)
    for finding, parts in zip(trial.tally.findings_in_order, failures, strict=True):
        if not finding.cause.told and not finding.is_tolerated:
            texts = {"text": messages.format_failure(parts), "short": format_short(parts), "again": parts.again}
            cleaned = {name: printable(text, MAX_MESSAGE_CHARACTERS) for name, text in texts.items()}
            cause = state_cause(finding.cause, finding.examples)
            untold.append(ToldCause(cause=cause, backend=trial.backend.name, **cleaned))
            finding.cause.told = True
    message = "\n\n".join(told.text for told in untold)
    message = message or printable(messages.format_again(failures[0]), MAX_MESSAGE_CHARACTERS)
    report.longrepr = _build_longrepr(item, message, reason)
    carry_causes(untold, report)


def _restore_outcome(report: pytest.TestReport, item: pytest.Item, session: Session) -> BaseException | None:
    """Undo what others made of a failure, as a mark xfail does. Return what the law raised, if it failed."""
    outcome = session.ledger.outcomes.get(item.nodeid)
    if outcome is None and report.passed:
        report.outcome, report.longrepr = "failed", "a conftest.py or a plugin of another project kept this law from being tried"
        session.ledger.record(item.nodeid, "failed")
    elif outcome == "failed" and not report.failed:
        report.outcome = "failed"
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    return session.ledger.errors.pop(item.nodeid, None)


def _build_longrepr(item: pytest.Item, text: str, summary: str) -> Any:
    """Return what makes pytest print the text in place of a traceback, and the summary in its short test summary."""
    from _pytest._code.code import ReprEntryNative, ReprExceptionInfo, ReprFileLocation, ReprTraceback

    path, number, _ = item.location
    lines = ReprEntryNative([f"{text}\n"])
    return ReprExceptionInfo(ReprTraceback([lines], None, "native"), ReprFileLocation(path, (number or 0) + 1, summary))
